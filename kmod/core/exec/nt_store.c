// SPDX-License-Identifier: GPL-2.0
/*
 * The size from which stores past the caches are faster. A plain store first reads the line that
 * it changes, and evicts another line. A store past the caches does neither, but its bytes have to
 * come from memory when they are read again. The sizes of caches do not tell which is faster, as
 * other threads use the caches, too. So it is measured at load, on as many CPUs as share a sweep:
 * one CPU uses up neither the caches nor the bandwidth of the memory.
 */
#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../group/failure.h"
#include "../limits.h"
#include "../mem/reduce.h"
#include "nt_store.h"

static ulong stream_from;
module_param(stream_from, ulong, 0444);
MODULE_PARM_DESC(stream_from, "collectives of one node store past the caches if their vectors in flight have this many bytes; default 0: measured at load");

/* Set once at load, not changed afterwards. */
static u64 coll_nt_bytes = U64_MAX;

/**
 * struct coll_nt_part - the part of one CPU in a pass
 * @work: runs it on another CPU
 * @r: an operator that leaves numbers as they are
 * @v: COLL_ISA_VECTORS vectors, inputs first
 * @count: elements of each
 * @stream: store past the caches
 */
struct coll_nt_part {
	struct work_struct work;
	const struct coll_reducer *r;
	float *v;
	size_t count;
	bool stream;
};

/* Fill with ordinary numbers: some CPUs read and write zeros faster. */
static void coll_nt_fill(float *v, size_t bytes)
{
	u32 *bits = (u32 *)v, x = 1;
	size_t i;

	for (i = 0; i < bytes / sizeof(*bits); i++) {
		x = x * 1664525 + 1013904223;
		bits[i] = COLL_NT_ONE | x >> 9;
		if (i % SZ_256K == 0)
			cond_resched();
	}
}

/* Reduce half of the vectors into the other half. @back: in the other direction. */
static void coll_nt_pass(const struct coll_nt_part *p, bool back)
{
	const size_t chunk = PAGE_SIZE / sizeof(float);
	const struct coll_reduce_arg arg = { .stream = p->stream };
	const void *in[COLL_ISA_VECTORS / 2];
	void *out[COLL_ISA_VECTORS / 2];
	size_t half = ARRAY_SIZE(in) * p->count, off, i;

	for (off = 0; off < p->count; off += chunk) {
		for (i = 0; i < ARRAY_SIZE(in); i++) {
			in[i] = p->v + (back ? half : 0) + i * p->count + off;
			out[i] = p->v + (back ? 0 : half) + i * p->count + off;
		}
		coll_reduce_run(p->r, true, out, ARRAY_SIZE(out), in, ARRAY_SIZE(in), arg,
				NULL, chunk);
		cond_resched();
	}
	/* Sweeps with such stores need this barrier, too: its time counts. */
	wmb();
}

/* Each pass reads the results of the one before, as ranks read theirs: that time counts, too. */
static void coll_nt_work(struct work_struct *work)
{
	const struct coll_nt_part *p = container_of(work, struct coll_nt_part, work);
	int pass;

	for (pass = 0; pass < COLL_NT_PASSES; pass++)
		coll_nt_pass(p, pass % 2);
}

/* Nanoseconds that passes over @bytes at @v take with @nr work items at the same time. */
static u64 coll_nt_time(struct coll_nt_part *parts, u32 nr, float *v, size_t bytes,
			    bool stream)
{
	size_t count = round_down(bytes / nr / COLL_ISA_VECTORS, PAGE_SIZE) / sizeof(float);
	u64 start = ktime_get_ns();
	u32 i;

	for (i = 0; i < nr; i++) {
		parts[i].v = v + i * count * COLL_ISA_VECTORS;
		parts[i].count = count;
		parts[i].stream = stream;
		if (i)
			queue_work(coll_alarm_wq, &parts[i].work);
	}
	coll_nt_work(&parts[0].work);
	for (i = 1; i < nr; i++)
		flush_work(&parts[i].work);
	return max_t(u64, ktime_get_ns() - start, 1);
}

/* Are stores past the caches faster by more than the error of the measurement? */
static bool coll_nt_wins(struct coll_nt_part *parts, u32 nr, float *v, size_t bytes)
{
	u64 plain = U64_MAX, past = U64_MAX;
	int run;

	for (run = 0; run < COLL_NT_RUNS; run++) {
		plain = min(plain, coll_nt_time(parts, nr, v, bytes, false));
		past = min(past, coll_nt_time(parts, nr, v, bytes, true));
	}
	return past < plain - plain / 16;
}

/* The least size from which on they are always faster. Beyond the measured sizes it is assumed. */
static u64 coll_nt_measure(struct coll_nt_part *parts, u32 nr, float *v)
{
	size_t bytes = COLL_NT_MOST;
	u64 from = 2 * COLL_NT_MOST;

	while (bytes >= COLL_NT_LEAST && coll_nt_wins(parts, nr, v, bytes)) {
		from = bytes;
		bytes /= 2;
	}
	return from;
}

void coll_nt_init(void)
{
	u32 nr = min(num_online_cpus(), COLL_SLICE_PARTS), i;
	struct coll_nt_part *parts;
	struct coll_reducer r = { };
	float *v;

	coll_nt_bytes = stream_from ?: 2 * COLL_NT_MOST;
	if (stream_from)
		return;
	parts = kcalloc(nr, sizeof(*parts), GFP_KERNEL);
	v = kvmalloc(COLL_NT_MOST, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!parts || !v)
		goto out;
	coll_reducer_setup(&r, COLL_OP_MAX, COLL_F32, false);
	for (i = 0; i < nr; i++) {
		INIT_WORK(&parts[i].work, coll_nt_work);
		parts[i].r = &r;
	}
	coll_nt_fill(v, COLL_NT_MOST);
	coll_nt_bytes = coll_nt_measure(parts, nr, v);
	pr_info("coll: non-temporal stores from %llu KiB on\n",
		coll_nt_bytes >> 10);
out:
	kvfree(v);
	kfree(parts);
}

u64 coll_nt_from(void)
{
	return coll_nt_bytes;
}
