// SPDX-License-Identifier: GPL-2.0
/*
 * usage: floor RANKS PLAN...: what the machine, or the VM it runs in, allows.
 *
 * Memory: a loop that reads one buffer per rank and writes one per rank, as an
 * allreduce on one node must. "plain1" and "plain2" are the reduction that
 * coll.ko ships (kmod/simd), by one process and by two; "nt2" two processes that
 * store past the caches. (Not threads: those of one process run one at a time in
 * user-mode Linux.) And what a sleeping communication cannot avoid: a
 * system call, and waking another process up (a pipe, half a round trip).
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "reduce/reduce.h"

#define MAX_RANKS	16
#define AT_LEAST	((size_t)1 << 20)	/* bytes of each buffer in one measurement */
#define PINGS		200
#define CALLS		40

typedef void loop_fn(float *const *out, float *const *in, int ranks, size_t from, size_t to);

static const struct coll_simd *isa;
static cpu_set_t allowed;

static void plain(float *const *out, float *const *in, int ranks, size_t from, size_t to)
{
	void *o[MAX_RANKS];
	const void *i[MAX_RANKS];
	int r;

	for (r = 0; r < ranks; r++) {
		o[r] = out[r] + from;
		i[r] = in[r] + from;
	}
	isa->fn[COLL_F32][COLL_OP_SUM](o, (unsigned int)ranks, i, (unsigned int)ranks,
				       to - from, NULL);
}

/* SSE2 suffices: what counts is the kind of the store. */
static void past_caches(float *const *out, float *const *in, int ranks, size_t from, size_t to)
{
	__m128 a[4];
	size_t i;
	int r, k;

	for (i = from; i + 16 <= to; i += 16) {
		for (k = 0; k < 4; k++)
			a[k] = _mm_load_ps(in[0] + i + 4 * k);
		for (r = 1; r < ranks; r++)
			for (k = 0; k < 4; k++)
				a[k] = _mm_add_ps(a[k], _mm_load_ps(in[r] + i + 4 * k));
		for (r = 0; r < ranks; r++)
			for (k = 0; k < 4; k++)
				_mm_stream_ps(out[r] + i + 4 * k, a[k]);
	}
	_mm_sfence();
}

/* The job of both processes, in memory they share; the second one does the upper half. */
struct job {
	float **out, **in;
	loop_fn *fn;
	size_t count;
	int ranks, again;
	atomic_int turn, done;
};

static void wait_for(atomic_int *v, int value)
{
	int spins = 0;

	while (atomic_load_explicit(v, memory_order_acquire) != value)
		if (++spins % 1024 == 0)
			sched_yield();
}

static void sweep(struct job *j, size_t from, size_t to)
{
	int i;

	for (i = 0; i < j->again; i++)
		j->fn(j->out, j->in, j->ranks, from, to);
}

static size_t middle(size_t count)
{
	return count / 2 / 16 * 16;
}

/* The scheduler may take its time to give each of two processes a CPU. */
static void take_cpu(int nth)
{
	cpu_set_t one;
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || nth--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
}

static void upper_half(struct job *j)
{
	int turn;

	take_cpu(1);
	for (turn = 1; ; turn++) {
		wait_for(&j->turn, turn);
		if (!j->fn)
			_exit(0);
		sweep(j, middle(j->count), j->count);
		atomic_store_explicit(&j->done, turn, memory_order_release);
	}
}

static double once(struct job *j, int processes, int turn)
{
	double begin = bench_now_us();

	if (processes == 1) {
		sweep(j, 0, j->count);
	} else {
		atomic_store_explicit(&j->turn, turn, memory_order_release);
		sweep(j, 0, middle(j->count));
		wait_for(&j->done, turn);
	}
	return (bench_now_us() - begin) / j->again;
}

static void loops(const char *kind, loop_fn *fn, int processes, float **out, float **in,
		  int ranks, int n, char **plan, double *times)
{
	struct job *j = bench_map(sizeof(*j), MAP_SHARED);
	struct bench_size z;
	int i, s, turn = 0;

	j->out = out;
	j->in = in;
	j->ranks = ranks;
	if (processes == 2) {
		if (!fork())
			upper_half(j);
		take_cpu(0);
	}
	for (s = 0; s < n; s++) {
		bench_parse(plan[s], &z);
		j->fn = fn;
		j->count = z.bytes / sizeof(float);
		/* In user-mode Linux the clock is a system call: repeat short loops. */
		j->again = z.bytes < AT_LEAST ? (int)(AT_LEAST / z.bytes) : 1;
		for (i = -z.warmup; i < z.iters; i++) {
			double us = once(j, processes, ++turn);

			if (i >= 0)
				times[i] = us;
		}
		bench_row(kind, ranks, z.bytes, bench_median(times, z.iters));
	}
	if (processes == 2) {
		j->fn = NULL;
		atomic_store_explicit(&j->turn, turn + 1, memory_order_release);
		wait(NULL);
	}
	munmap(j, sizeof(*j));
}

static double syscall_us(double *times)
{
	double begin;
	int i, k;

	for (i = 0; i < CALLS; i++) {
		begin = bench_now_us();
		for (k = 0; k < CALLS; k++)
			syscall(SYS_getppid);
		times[i] = (bench_now_us() - begin) / CALLS;
	}
	return bench_median(times, CALLS);
}

static double wakeup_us(double *times)
{
	int to[2], from[2], i;
	double begin;
	char c = 0;
	pid_t pid;

	if (pipe(to) || pipe(from)) {
		perror("pipe");
		exit(2);
	}
	pid = fork();
	if (!pid) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
			;
		_exit(0);
	}
	for (i = 0; i < PINGS; i++) {
		begin = bench_now_us();
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			break;
		times[i] = (bench_now_us() - begin) / 2;
	}
	close(to[1]);
	waitpid(pid, NULL, 0);
	return bench_median(times, i ? i : 1);
}

int main(int argc, char **argv)
{
	int ranks = argc > 2 ? atoi(argv[1]) : 0, r;
	float *in[MAX_RANKS], *out[MAX_RANKS];
	struct bench_size most;
	double *times;

	if (ranks < 2 || ranks > MAX_RANKS) {
		fprintf(stderr, "usage: floor RANKS BYTES:ITERATIONS:WARMUP...\n");
		return 2;
	}
	/* The module chooses the same set. */
	isa = coll_simd_usable(0);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		perror("sched_getaffinity");
	most = bench_largest(argc - 2, argv + 2);
	times = bench_alloc((size_t)(most.iters > PINGS ? most.iters : PINGS), sizeof(*times));
	bench_row("syscall", ranks, 0, syscall_us(times));
	bench_row("wakeup", ranks, 0, wakeup_us(times));
	for (r = 0; r < ranks; r++) {
		in[r] = bench_map(most.bytes, MAP_SHARED);
		out[r] = bench_map(most.bytes, MAP_SHARED);
		bench_fill(in[r], most.bytes / sizeof(float), r);
	}
	loops("plain1", plain, 1, out, in, ranks, argc - 2, argv + 2, times);
	loops("plain2", plain, 2, out, in, ranks, argc - 2, argv + 2, times);
	loops("nt2", past_caches, 2, out, in, ranks, argc - 2, argv + 2, times);
	r = bench_wrong(out[0], most.bytes / sizeof(float), ranks) ||
	    bench_wrong(out[ranks - 1], most.bytes / sizeof(float), ranks);
	if (r)
		fprintf(stderr, "floor: wrong sums\n");
	return r;
}
