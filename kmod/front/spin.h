/* SPDX-License-Identifier: GPL-2.0 */
/* How long a blocking call stays awake to look for its end before it sleeps. */
#ifndef COLL_FRONT_SPIN_H
#define COLL_FRONT_SPIN_H

#include <linux/types.h>

struct coll_group;
struct coll_req;

/* At load: find out what falling asleep and being woken costs here. */
void coll_spin_init(void);

/**
 * coll_spin_us() - microseconds that a request is worth looking for
 * @req: posted by the caller
 *
 * Return: 0 where there is only one CPU, or the request says so.
 */
u32 coll_spin_us(const struct coll_req *req);

/* The same of a call that waits for tensors of a group. */
u32 coll_spin_group_us(const struct coll_group *g);

/**
 * coll_spin_yields() - how often it may yield the CPU, without falling asleep
 * @req: posted by the caller
 *
 * Return: 0 where those are not likely to be the ranks that are waited for.
 */
u32 coll_spin_yields(const struct coll_req *req);

#endif /* COLL_FRONT_SPIN_H */
