/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Files that communicators of coll need. Half of the allowed files are for the application. */
#ifndef LIBCOLL_MPI_FILES_H
#define LIBCOLL_MPI_FILES_H

#include <stdbool.h>

/** files_suffice() - may this process have one more communicator of coll? */
bool files_suffice(void);

/** files_count() - there are @nr more communicators of coll; negative: fewer */
void files_count(int nr);

#endif
