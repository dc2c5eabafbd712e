/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The listening socket of rank 0, and its limit of descriptors. */
#ifndef LIBCOLL_RDV_LISTEN_H
#define LIBCOLL_RDV_LISTEN_H

#include "rendezvous.h"

/* Rank 0's listening socket, or -errno. */
int rdv_listen(const struct rdv_config *cfg);

/* Raise the soft limit of descriptors for @size ranks, if it has to be. Return: was it raised? */
bool rdv_raise_files(uint32_t size);
/* Call it once for each rdv_raise_files() that returned true. The last call restores the limit. */
void rdv_restore_files(void);

/* Number of descriptors that this process may still open, @most at most. */
uint32_t rdv_free_files(uint32_t most);

#endif
