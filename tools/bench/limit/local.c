// SPDX-License-Identifier: GPL-2.0
/* One node: N vectors are read, N written, as an allreduce of N ranks must. */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "compat.h"
#include "limit.h"

#define SLICE		16	/* pages that a worker takes at once */
#define LIMIT_WORKERS	64U

/**
 * struct limit_job - what the workers of one measurement share
 * @fn: the loop
 * @in: pages of each vector
 * @out: pages of each output
 * @ranks: vectors on each side
 * @workers: one on each CPU
 * @iters: iterations
 * @pages: of each vector
 * @tail: bytes of the last one
 * @times: of each iteration, nanoseconds
 * @begin: time when this iteration began; written at one gate, read at the next
 * @arrived: workers that have come to the next gate
 * @gate: gates passed
 * @cursor: next page
 * @left: workers that have not gone home
 * @done: all have
 */
struct limit_job {
	limit_sum_fn *fn;
	struct page **in[LIMIT_RANKS], **out[LIMIT_RANKS];
	unsigned int ranks, workers, iters;
	unsigned long pages;
	size_t tail;
	u64 *times;
	u64 begin;
	atomic_t arrived, gate;
	atomic_long_t cursor;
	atomic_t left;
	struct completion done;
};

/*
 * All workers meet at the gate. The last one sets the cursor back and opens the gate. Return: the
 * time of this to the last one; 0 to the others. If each worker took the time by itself, the time
 * for which it was not running would be left out.
 */
static u64 limit_meet(struct limit_job *j)
{
	u64 now;

	int gate = atomic_read(&j->gate);

	if (atomic_inc_return(&j->arrived) == j->workers) {
		atomic_set(&j->arrived, 0);
		atomic_long_set(&j->cursor, 0);
		now = ktime_get_ns();
		atomic_inc(&j->gate);
		return now;
	}
	while (atomic_read(&j->gate) == gate)
		cpu_relax();
	return 0;
}

static void limit_page(struct limit_job *j, unsigned long at)
{
	unsigned long ahead = min(at + 1, j->pages - 1);
	const void *in[LIMIT_RANKS], *next[LIMIT_RANKS];
	void *out[LIMIT_RANKS];
	unsigned int r;

	for (r = 0; r < j->ranks; r++) {
		in[r] = page_address(j->in[r][at]);
		out[r] = page_address(j->out[r][at]);
		next[r] = page_address(j->in[r][ahead]);
	}
	coll_fpu_begin(false);
	j->fn(out, in, next, j->ranks, at == j->pages - 1 ? j->tail : PAGE_SIZE);
	coll_fpu_end();
}

static void limit_once(struct limit_job *j)
{
	unsigned long at, end;

	while ((at = atomic_long_fetch_add(SLICE, &j->cursor)) < j->pages) {
		end = min(at + SLICE, j->pages);
		for (; at < end; at++)
			limit_page(j, at);
	}
}

static int limit_worker(void *arg)
{
	struct limit_job *j = arg;
	unsigned int i;
	u64 now;

	for (i = 0; i < j->iters; i++) {
		now = limit_meet(j);
		if (now)
			j->begin = now;
		limit_once(j);
		now = limit_meet(j);
		if (now)
			j->times[i] = now - j->begin;
		cond_resched();
	}
	if (atomic_dec_and_test(&j->left))
		complete(&j->done);
	return 0;
}

static int limit_cmp(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* One on each CPU; none runs yet. They wait for each other: all, or none at all. */
static int limit_hire(struct limit_job *j, struct task_struct **staff)
{
	unsigned int cpu, n = 0;

	for_each_online_cpu(cpu) {
		if (n == j->workers)
			break;
		staff[n] = kthread_create(limit_worker, j, "coll_limit/%u", cpu);
		if (IS_ERR(staff[n])) {
			int ret = PTR_ERR(staff[n]);

			while (n)
				kthread_stop(staff[--n]);
			return ret;
		}
		kthread_bind(staff[n++], cpu);
	}
	j->workers = n;
	return 0;
}

/* Median of the iterations, in nanoseconds; negative: an error. */
static s64 limit_run(struct limit_job *j, limit_sum_fn *fn)
{
	struct task_struct *staff[LIMIT_WORKERS];
	unsigned int i;
	int ret;

	ret = limit_hire(j, staff);
	if (ret)
		return ret;
	j->fn = fn;
	atomic_set(&j->arrived, 0);
	atomic_long_set(&j->cursor, 0);
	atomic_set(&j->left, j->workers);
	init_completion(&j->done);
	for (i = 0; i < j->workers; i++)
		wake_up_process(staff[i]);
	wait_for_completion(&j->done);
	sort(j->times, j->iters, sizeof(*j->times), limit_cmp, NULL);
	return j->times[j->iters / 2];
}

static int limit_kinds(struct limit_job *j, const struct limit_loops *loops, char *text)
{
	static const char *const names[] = { "plain", "past", "ahead" };
	limit_sum_fn *const fns[] = { loops->plain, loops->past, loops->ahead };
	size_t len = strlen(text), i;
	s64 ns;

	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		ns = limit_run(j, fns[i]);
		if (ns < 0)
			return ns;
		len += scnprintf(text + len, LIMIT_TEXT - len, "%s_%s %lld.%03lld\n",
				 loops->name, names[i], ns / 1000, ns % 1000);
	}
	return 0;
}

/* The small whole number @k as a float, without the FPU. */
static u32 limit_float(u32 k)
{
	return k ? (127 + ilog2(k)) << 23 | (k << (23 - ilog2(k)) & 0x7fffff) : 0;
}

/* As peer.h fills vectors: nothing but zeros is faster to read and to write on some CPUs. */
static void limit_fill(struct page *page)
{
	u32 *p = page_address(page);
	unsigned int i;

	for (i = 0; i < PAGE_SIZE / sizeof(*p); i++)
		p[i] = limit_float((i * 7 + 3) % 16);
}

struct page **limit_pages(unsigned long nr)
{
	struct page **pages = kvcalloc(nr, sizeof(*pages), GFP_KERNEL);
	unsigned long i;

	for (i = 0; pages && i < nr; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		if (!pages[i]) {
			limit_pages_free(pages, nr);
			return NULL;
		}
		limit_fill(pages[i]);
		cond_resched();
	}
	return pages;
}

void limit_pages_free(struct page **pages, unsigned long nr)
{
	unsigned long i;

	for (i = 0; pages && i < nr; i++)
		if (pages[i])
			__free_page(pages[i]);
	kvfree(pages);
}

int limit_local(unsigned int ranks, size_t bytes, unsigned int iters, char *text)
{
	static const struct limit_loops *const all[] = { &limit_sse2, &limit_avx2, &limit_avx512 };
	struct limit_job *j = kzalloc(sizeof(*j), GFP_KERNEL);
	int ret = -ENOMEM;
	unsigned int r;
	size_t i;

	if (!j)
		return ret;
	j->ranks = ranks;
	j->workers = min(num_online_cpus(), LIMIT_WORKERS);
	j->iters = iters;
	j->pages = DIV_ROUND_UP(bytes, PAGE_SIZE);
	j->tail = bytes - (j->pages - 1) * PAGE_SIZE;
	j->times = kvcalloc(iters, sizeof(*j->times), GFP_KERNEL);
	for (r = 0; r < ranks; r++) {
		j->in[r] = limit_pages(j->pages);
		j->out[r] = limit_pages(j->pages);
		if (!j->in[r] || !j->out[r])
			goto out;
	}
	ret = j->times ? 0 : -ENOMEM;
	for (i = 0; !ret && i < ARRAY_SIZE(all); i++)
		if (limit_usable(all[i]))
			ret = limit_kinds(j, all[i], text);
out:
	for (r = 0; r < ranks; r++) {
		limit_pages_free(j->in[r], j->pages);
		limit_pages_free(j->out[r], j->pages);
	}
	kvfree(j->times);
	kfree(j);
	return ret;
}
