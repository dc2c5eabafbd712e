// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs, while allocations fail by chance that have code of coll on their stack, those of its
 * workers as well: ranks end, with what they wanted or with an error, and in time.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "inject.h"
#include "procs.h"
#include "util.h"

#define HANG_MS		40000
#define DEADLINE	2000000000ULL

/**
 * struct form - what the ranks of a job do
 * @kind: how they give commands
 * @stream: with FORM_IOCTL and FORM_URING
 */
struct form {
	enum { FORM_IOCTL, FORM_URING, FORM_POSTED, FORM_NAMED, NR_FORMS } kind;
	struct procs_stream stream;
};

/*
 * All memory is there before the first op: user-mode Linux writes to the zero page, or to
 * none, if a user's page that it wants to write to cannot be had for lack of memory.
 */
static void locked(struct procs *p, uint32_t rank)
{
	const struct form *f = p->arg;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		procs_result(p, rank, -errno);
		return;
	}
	switch (f->kind) {
	case FORM_POSTED:
		posted_ops(p, rank, DEADLINE);
		break;
	case FORM_NAMED:
		named_ops(p, rank, DEADLINE);
		break;
	default:
		p->arg = (void *)&f->stream;
		procs_ops_stream(p, rank);
	}
}

static bool job(unsigned int nr, const char *what, unsigned int percent)
{
	static const struct { uint32_t size, nodes; } shapes[] = { { 2, 1 }, { 3, 3 }, { 4, 2 } };
	struct form f = {
		.kind = nr / 3 % NR_FORMS,
		.stream = {
			.seed = nr * 0x9e3779b97f4a7c15ULL | 1, .max_bytes = 100000, .count = 40,
			.timeout_ns = DEADLINE,
		},
	};
	struct procs p = { .ops = locked, .arg = &f };
	uint32_t r, wrong = 0;
	bool ended;

	f.stream.uring = f.kind == FORM_URING ? 4 : 0;
	if (f.kind == FORM_NAMED)
		p.flags = COLL_JOIN_NAMED;
	if (!inject_coll(what, percent))
		return false;
	if (procs_start(&p, shapes[nr % 3].size, shapes[nr % 3].nodes))
		return false;
	procs_wait(&p, PROCS_JOINED, HANG_MS);
	p.sh->go = 1;
	tally.calls++;
	ended = procs_wait(&p, PROCS_ENDED, HANG_MS);
	inject_coll(what, 0);
	for (r = 0; r < p.c.size; r++)
		wrong += p.sh->rank[r].wrong != 0;
	procs_stop(&p);
	if (!ended)
		tally.hangs++;
	if (!ended || wrong)
		printf("# job %u: %s, %u of %u ranks wrong\n", nr, ended ? "ended" : "hangs", wrong,
		       p.c.size);
	return ended && !wrong;
}

void jobs_run(unsigned int jobs)
{
	static const unsigned int percents[] = { 1, 4, 15 };
	static const char *const whats[] = { "failslab", "fail_page_alloc" };
	unsigned int w, p, i, good;
	unsigned long n;

	for (w = 0; w < 2; w++) {
		for (p = 0; p < 3; p++) {
			good = 0;
			n = 0;
			for (i = 0; i < jobs / 6; i++) {
				good += job(i, whats[w], percents[p]);
				n += inject_count(whats[w]);
			}
			tally.injections += n;
			/* A page is rarely allocated, but something always is. */
			scenario(good == i && (n || w), "%s at %u %%: %u of %u jobs, %lu faults",
				 whats[w], percents[p], good, i, n);
		}
	}
}
