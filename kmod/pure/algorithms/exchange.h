/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The exchange of whole vectors among groups of a hypercube. */
#ifndef COLL_PURE_ALGORITHMS_EXCHANGE_H
#define COLL_PURE_ALGORITHMS_EXCHANGE_H

#include "../topology/hypercube.h"

/**
 * coll_emit_exchange() - allreduce of whole vectors
 * @e: where
 * @c: the participants; explained in algorithms/allreduce/recursive_doubling.c
 */
void coll_emit_exchange(struct coll_emit *e, const struct coll_core *c);

/* Vectors that a participant sends in the exchange. */
u64 coll_exchange_sent(const struct coll_core *c);

#endif /* COLL_PURE_ALGORITHMS_EXCHANGE_H */
