/* SPDX-License-Identifier: GPL-2.0 */
/* How long a blocking call polls for its end before it sleeps. */
#ifndef COLL_FRONT_SPIN_H
#define COLL_FRONT_SPIN_H

#include <linux/types.h>

struct coll_group;
struct coll_req;

/* At load: measure how long falling asleep and being woken takes on this machine. */
void coll_spin_init(void);

/**
 * coll_spin_us() - microseconds that a caller should poll for the end of a request
 * @req: posted by the caller
 *
 * Return: 0 if there is only one CPU, or if the request says so.
 */
u32 coll_spin_us(const struct coll_req *req);

/* The same for a group, whatever a request says about it. */
u32 coll_spin_group_us(const struct coll_group *g);

/**
 * coll_spin_yields() - how often a caller may yield the CPU while it polls
 * @req: posted by the caller
 *
 * Return: 0 if the CPU would probably not go to a rank that the caller waits for.
 */
u32 coll_spin_yields(const struct coll_req *req);

#endif /* COLL_FRONT_SPIN_H */
