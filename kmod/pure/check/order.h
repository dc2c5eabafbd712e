/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* An order in which the steps can happen, and what follows from it. */
#ifndef COLL_PURE_CHECK_ORDER_H
#define COLL_PURE_CHECK_ORDER_H

#include "state.h"

/* Sort all steps so that none is before one that it waits for: k->order. */
void check_order(struct check *k);

/* The longest chain of transfers is as long as the algorithm says. Return: 0 or -EINVAL. */
int check_latency(struct check *k);

/* Payload moves only after all are known to have started. Return: 0 or -EINVAL. */
int check_started(struct check *k);

#endif /* COLL_PURE_CHECK_ORDER_H */
