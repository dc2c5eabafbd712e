/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranks that share CPUs: a rank that waits for another rank on the same CPU should yield the CPU
 * to it.
 */
#ifndef COLL_CORE_LAST_CPU_H
#define COLL_CORE_LAST_CPU_H

#include <linux/types.h>

struct coll_group;
struct coll_req;

/**
 * struct coll_last_cpu - where a local rank ran last
 * @seq: the op it posted last
 * @cpu: the CPU on which it posted that op
 *
 * Both are written under group->lock, and read without it: a wrong value only costs time.
 */
struct coll_last_cpu {
	u64 seq;
	u32 cpu;
};

/* A local rank posts an op, which has got its number. Under group->lock. */
void coll_last_cpu_posted(const struct coll_req *req);

/**
 * coll_cpu_is_wanted() - does an op wait for a rank that was last seen on this CPU?
 * @req: posted by the caller; the op may be over
 *
 * Not for messages, which wait for other things.
 */
bool coll_cpu_is_wanted(const struct coll_req *req);

#endif /* COLL_CORE_LAST_CPU_H */
