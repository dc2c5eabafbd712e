/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the programs that scripts start as ranks. */
#ifndef COLL_SELFTESTS_RANK_H
#define COLL_SELFTESTS_RANK_H

#include <stdint.h>

/* Set by the program: the rank of this process, for messages. */
extern uint32_t me;

/* End the process if @ret is an error, and say that @what has failed. */
void must(int ret, const char *what);

#endif /* COLL_SELFTESTS_RANK_H */
