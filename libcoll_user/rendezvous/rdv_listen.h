/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* How rank 0 listens, and how many descriptors it has for that. */
#ifndef LIBCOLL_RDV_LISTEN_H
#define LIBCOLL_RDV_LISTEN_H

#include "rendezvous.h"

/* Rank 0's listening socket, or -errno. */
int rdv_listen(const struct rdv_config *cfg);

/* Have the soft limit of descriptors raised for @size ranks; @before: to put it back. */
void rdv_raise_files(uint32_t size, uint64_t *before);
void rdv_restore_files(uint64_t before);

/* How many descriptors this process may still open; @most: if there are more. */
uint32_t rdv_free_files(uint32_t most);

#endif
