/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Steps one by one, their rounds, and the pairs of sends and receives. */
#ifndef COLL_PURE_CHECK_STEPS_H
#define COLL_PURE_CHECK_STEPS_H

#include "state.h"

/*
 * Is step @i of participant @me valid? @steps are the steps of that participant alone.
 * Return: NULL, or what is wrong.
 */
const char *check_step(const struct check *k, const struct coll_step *steps, u32 i, u32 me);

/*
 * Rounds of a participant's steps: @key gets when each may happen, @at is the place of an
 * error. Return: NULL, or what is wrong.
 */
const char *check_rounds(struct check *k, const struct coll_step *steps, u32 nr, u32 *key,
			 u32 *at);

/* Both of the above for all participants. Return: 0 or -EINVAL. */
int check_all_steps(struct check *k);

/* Each send has the receive that fits it, in the order of their link. Return: 0 or -EINVAL. */
int check_pairs(struct check *k);

#endif /* COLL_PURE_CHECK_STEPS_H */
