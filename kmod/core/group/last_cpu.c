// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/smp.h>

#include "group.h"
#include "member.h"
#include "req.h"
#include "last_cpu.h"

void coll_last_cpu_posted(const struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);
	struct coll_last_cpu *t = &g->last_cpus[req->member->local];

	lockdep_assert_held(&g->lock);
	WRITE_ONCE(t->seq, req->seq);
	WRITE_ONCE(t->cpu, raw_smp_processor_id());
}

bool coll_cpu_is_wanted(const struct coll_req *req)
{
	const struct coll_group *g = coll_member_group(req->member);
	u32 i, cpu = raw_smp_processor_id();

	for (i = 0; i < g->nr_local; i++)
		if (READ_ONCE(g->last_cpus[i].cpu) == cpu &&
		    READ_ONCE(g->last_cpus[i].seq) < req->seq)
			return true;
	return false;
}
