// SPDX-License-Identifier: GPL-2.0
/*
 * When are stores past the caches worth it? A plain store first reads the line it
 * changes, and pushes another one out; one past the caches does neither, but what it
 * wrote has to come from memory when it is read again. Where that turns depends on caches
 * whose size says little, as they are shared with others: so it is measured, at load.
 */
#include <linux/cache.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "limits.h"
#include "reduce.h"
#include "stream.h"

static ulong stream_from;
module_param(stream_from, ulong, 0444);
MODULE_PARM_DESC(stream_from, "bytes, read and written together, from which on collectives of one node store past the caches; default 0: measured at load");

/* Set once at load, read only after. */
static u64 coll_stream_bytes = U64_MAX;

/* One pass of a node of half as many ranks as there are vectors in @v. */
static u64 coll_stream_pass(const struct coll_reducer *r, float *v, size_t count,
			    bool stream)
{
	const size_t chunk = PAGE_SIZE / sizeof(float);
	const struct coll_reduce_arg arg = { .stream = stream };
	const void *in[COLL_ISA_VECTORS / 2];
	void *out[COLL_ISA_VECTORS / 2];
	u64 start = ktime_get_ns();
	size_t off, i;

	for (off = 0; off < count; off += chunk) {
		for (i = 0; i < ARRAY_SIZE(in); i++) {
			in[i] = v + i * count + off;
			out[i] = v + (ARRAY_SIZE(in) + i) * count + off;
		}
		coll_reduce_run(r, true, out, ARRAY_SIZE(out), in, ARRAY_SIZE(in), arg,
				NULL, chunk);
		cond_resched();
	}
	/* as those who use it have to: it is part of the price */
	wmb();
	return max_t(u64, ktime_get_ns() - start, 1);
}

/* Do stores past the caches win by more than what measuring is unsure of? */
static bool coll_stream_wins(const struct coll_reducer *r, float *v, size_t bytes)
{
	size_t count = bytes / COLL_ISA_VECTORS / sizeof(float);
	u64 plain = U64_MAX, past = U64_MAX;
	int run;

	for (run = 0; run < COLL_STREAM_RUNS; run++) {
		plain = min(plain, coll_stream_pass(r, v, count, false));
		past = min(past, coll_stream_pass(r, v, count, true));
	}
	return past < plain - plain / 16;
}

/* The least size from which on they always win; beyond what is tried, they do. */
void coll_stream_init(void)
{
	struct coll_reducer r;
	size_t bytes;
	float *v;

	if (stream_from) {
		coll_stream_bytes = stream_from;
		return;
	}
	coll_stream_bytes = 2 * COLL_STREAM_MOST;
	v = kvzalloc(COLL_STREAM_MOST, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!v)
		return;
	coll_reducer_setup(&r, COLL_OP_SUM, COLL_F32);
	for (bytes = COLL_STREAM_MOST; bytes >= COLL_STREAM_LEAST; bytes /= 2) {
		if (!coll_stream_wins(&r, v, bytes))
			break;
		coll_stream_bytes = bytes;
	}
	kvfree(v);
	pr_info("coll: stores go past the caches from %llu KiB on\n",
		coll_stream_bytes >> 10);
}

u64 coll_stream_from(void)
{
	return coll_stream_bytes;
}
