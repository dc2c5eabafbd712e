/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The measurements, the same for every contender. A struct peer says how a contender does them.
 * A task is KIND:BYTES:ITERATIONS:WARMUP.
 *
 * time          a barrier before each iteration, of each iteration the time of the slowest
 *               rank; of these p10, p50, p90, p99
 * cpu           back to back, for ITERATIONS milliseconds, since some kernels count CPU
 *               time by ticks: CPU seconds of all ranks and of the kernel's workers for
 *               each 10^9 bytes of the vector, and time of one
 * overlap       share of a nonblocking allreduce that is hidden behind computation which
 *               takes as long as it does: computed by the rank itself
 * overlap_test  the same, with a look at the request after each sixteenth
 * overlap_away  the same, computed elsewhere: the rank sleeps meanwhile
 * burst         PEER_BURST nonblocking allreduces started at once, and one alone
 * idle          ITERATIONS seconds of doing nothing: switches to tasks of all ranks that
 *               slept, and their CPU time
 *
 * Results are lines "ROW kind ranks bytes metric value", with tabs. Included by one .c
 * or .cc file of each program.
 */
#ifndef PEER_H
#define PEER_H

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "bench.h"

#define PEER_LOOKS	16	/* at a request, while computing */
#define PEER_BURST	16	/* requests at a time */
#define PEER_RULES	5	/* looks at how long computing takes */
#define PEER_RULERS	5	/* times that it is adjusted */

/**
 * struct peer - a contender, in one rank of it
 * @buffers: told once where the vectors are; may be NULL
 * @start: nonblocking, as request @i, up to PEER_BURST at a time; NULL if it has nothing
 *	of the kind
 * @test: is request @i over?
 * @wait: for request @i
 * @collect: all ranks get the sum, or the largest, of each of @n numbers
 */
struct peer {
	int rank, ranks;
	void (*buffers)(float *in, float *out, size_t bytes);
	void (*barrier)(void);
	void (*allreduce)(float *in, float *out, size_t count);
	void (*start)(int i, float *in, float *out, size_t count);
	int (*test)(int i);
	void (*wait)(int i);
	void (*collect)(double *v, int n, int largest);
};

struct peer_task {
	char kind[24];
	struct bench_size z;
};

struct peer_run {
	const struct peer *p;
	struct peer_task task;
	float *in, *out;
	double *times;
};

static inline void peer_parse(const char *s, struct peer_task *t)
{
	const char *colon = strchr(s, ':');
	size_t len = colon ? (size_t)(colon - s) : 0;

	if (!len || len >= sizeof(t->kind) || bench_parse(colon + 1, &t->z)) {
		fprintf(stderr, "bad task \"%s\"\n", s);
		exit(2);
	}
	memset(t->kind, 0, sizeof(t->kind));
	memcpy(t->kind, s, len);
}

/*
 * Each rank a node: the network namespace BENCH_NODES followed by the number of the
 * rank, and on its device eth0 whatever BENCH_SHAPE tells tc. To be called before
 * anything is connected.
 */
static inline void peer_enter_node(int rank)
{
	const char *nodes = getenv("BENCH_NODES"), *shape = getenv("BENCH_SHAPE");
	char text[256];
	int fd;

	if (nodes && *nodes) {
		snprintf(text, sizeof(text), "%s%d", nodes, rank);
		fd = open(text, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET)) {
			perror(text);
			exit(2);
		}
		close(fd);
		/* UCX looks for devices in sysfs, which is of the namespace it was mounted in. */
		if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_SLAVE | MS_REC, NULL) ||
		    umount2("/sys", MNT_DETACH) || mount("sysfs", "/sys", "sysfs", 0, NULL)) {
			perror("/sys of a node");
			exit(2);
		}
	}
	if (shape && *shape) {
		snprintf(text, sizeof(text), "tc qdisc replace dev eth0 root %s", shape);
		if (system(text)) {
			fprintf(stderr, "rank %d: %s: failed\n", rank, text);
			exit(2);
		}
	}
}

static inline void peer_row(const struct peer_run *r, const char *metric, double value)
{
	if (r->p->rank)
		return;
	printf("ROW\t%s\t%d\t%zu\t%s\t%.6g\n", r->task.kind, r->p->ranks, r->task.z.bytes,
	       metric, value);
	fflush(stdout);
}

static inline double peer_clock(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 :
	       (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Does what the kernel does for processes, and is charged to none of them? */
static inline int peer_is_worker(const char *pid)
{
	char path[288], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(comm, sizeof(comm), f))
		*comm = 0;
	fclose(f);
	return !strncmp(comm, "kworker/", 8) || !strncmp(comm, "ksoftirqd/", 10);
}

/* CPU seconds of the kernel's workers so far, as the scheduler counts. */
static inline double peer_workers(void)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	double sum = 0;
	clockid_t clock;

	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 1 && peer_is_worker(e->d_name) && !clock_getcpuclockid(pid, &clock))
			sum += peer_clock(clock);
	}
	if (d)
		closedir(d);
	return sum;
}

/* CPU time of all ranks and workers; only rank 0 looks at the workers. */
static inline double peer_cpu(const struct peer *p)
{
	return peer_clock(CLOCK_PROCESS_CPUTIME_ID) + (p->rank ? 0 : peer_workers());
}

static inline size_t peer_count(const struct peer_run *r)
{
	return r->task.z.bytes / sizeof(float);
}

static inline void peer_check(const struct peer_run *r)
{
	size_t wrong = bench_wrong(r->out, peer_count(r), r->p->ranks);

	if (wrong) {
		fprintf(stderr, "rank %d: %zu wrong of %zu\n", r->p->rank, wrong, peer_count(r));
		exit(1);
	}
}

static inline double peer_part(const double *v, int n, double part)
{
	return v[(int)(part * (n - 1) + 0.5)];
}

static inline void peer_time(struct peer_run *r)
{
	int i, n = r->task.z.iters;
	double begin;

	for (i = -r->task.z.warmup; i < n; i++) {
		r->p->barrier();
		begin = bench_now_us();
		r->p->allreduce(r->in, r->out, peer_count(r));
		if (i >= 0)
			r->times[i] = bench_now_us() - begin;
	}
	r->p->collect(r->times, n, 1);
	peer_check(r);
	qsort(r->times, (size_t)n, sizeof(*r->times), bench_cmp);
	peer_row(r, "p10", peer_part(r->times, n, 0.10));
	peer_row(r, "p50", bench_median(r->times, n));
	peer_row(r, "p90", peer_part(r->times, n, 0.90));
	peer_row(r, "p99", peer_part(r->times, n, 0.99));
}

static inline void peer_cost(struct peer_run *r)
{
	double cpu, begin;
	int i, n;

	for (i = 0; i < r->task.z.warmup; i++)
		r->p->allreduce(r->in, r->out, peer_count(r));
	r->p->barrier();
	begin = bench_now_us();
	r->p->allreduce(r->in, r->out, peer_count(r));
	r->times[0] = bench_now_us() - begin;
	r->p->collect(r->times, 1, 1);
	n = (int)(r->task.z.iters * 1e3 / r->times[0]) + 1;
	r->p->barrier();
	cpu = peer_cpu(r->p);
	begin = bench_now_us();
	for (i = 0; i < n; i++)
		r->p->allreduce(r->in, r->out, peer_count(r));
	r->times[0] = peer_cpu(r->p) - cpu;
	r->p->collect(r->times, 1, 0);
	peer_row(r, "s_per_GB", r->times[0] * 1e9 / ((double)r->task.z.bytes * n));
	r->times[0] = (bench_now_us() - begin) / n;
	r->p->collect(r->times, 1, 1);
	peer_row(r, "us", r->times[0]);
}

/* Some microseconds of work for the CPU that touches no memory. */
static inline void peer_compute(long units)
{
	volatile unsigned int sink = 0;
	unsigned int x = 1;
	int i;

	while (units-- > 0) {
		for (i = 0; i < 4000; i++)
			x = x * 1664525 + 1013904223;
		sink = x;
	}
	(void)sink;
}

/* The application's work during an allreduce. */
static inline void peer_meanwhile(const struct peer_run *r, double us, long units)
{
	int looks = strcmp(r->task.kind, "overlap_test") ? 1 : PEER_LOOKS, i;
	struct timespec ts;

	if (!strcmp(r->task.kind, "overlap_away")) {
		ts.tv_sec = (time_t)(us / 1e6);
		ts.tv_nsec = (long)((us - (double)ts.tv_sec * 1e6) * 1e3);
		nanosleep(&ts, NULL);
		return;
	}
	for (i = 0; i < looks; i++) {
		peer_compute(units * (i + 1) / looks - units * i / looks);
		if (looks > 1)
			r->p->test(0);
	}
}

enum peer_phase { PEER_PURE, PEER_COMPUTE, PEER_BOTH };

/* The slowest rank's time. */
static inline double peer_once(struct peer_run *r, enum peer_phase phase, double us, long units)
{
	double took;

	r->p->barrier();
	took = bench_now_us();
	if (phase != PEER_COMPUTE)
		r->p->start(0, r->in, r->out, peer_count(r));
	if (phase != PEER_PURE)
		peer_meanwhile(r, us, units);
	if (phase != PEER_COMPUTE)
		r->p->wait(0);
	took = bench_now_us() - took;
	r->p->collect(&took, 1, 1);
	return took;
}

/*
 * How many units take as long as @us when all ranks compute. In a short measurement, several ranks
 * may share one CPU all the time: so each measurement takes about @us. All ranks agree.
 */
static inline long peer_units(struct peer_run *r, double us)
{
	double took[PEER_RULES], units = 1000;
	int i, k;

	for (i = 0; i < PEER_RULERS; i++) {
		for (k = 0; k < PEER_RULES; k++)
			took[k] = peer_once(r, PEER_COMPUTE, us, (long)units);
		took[0] = bench_median(took, PEER_RULES);
		if (took[0] > 0.97 * us && took[0] < 1.03 * us)
			break;
		units *= took[0] > 0 ? us / took[0] : 2;
		units = units < 1 ? 1 : units;
	}
	return (long)units;
}

/* Measure by turns alone and with computing: the speed of a CPU may change in between. */
static inline void peer_overlap(struct peer_run *r)
{
	int n = r->task.z.iters, i;
	double *v, *pure, *alone, *both, share;
	long units = 0;

	if (!r->p->start)
		return;
	v = (double *)bench_alloc(3 * (size_t)n, sizeof(*v));
	pure = v, alone = v + n, both = alone + n;
	for (i = -r->task.z.warmup; i < n; i++)
		pure[i < 0 ? 0 : i] = peer_once(r, PEER_PURE, 0, 0);
	peer_check(r);
	*pure = bench_median(pure, n);
	if (strcmp(r->task.kind, "overlap_away"))
		units = peer_units(r, *pure);
	for (i = -1; i < n; i++) {
		alone[i < 0 ? 0 : i] = peer_once(r, PEER_COMPUTE, *pure, units);
		both[i < 0 ? 0 : i] = peer_once(r, PEER_BOTH, *pure, units);
	}
	*alone = bench_median(alone, n);
	*both = bench_median(both, n);
	share = 1 - (*both - *alone) / *pure;
	peer_row(r, "share", share < 0 ? 0 : share > 1 ? 1 : share);
	peer_row(r, "us", *pure);
	peer_row(r, "compute_us", *alone);
	peer_row(r, "both_us", *both);
	free(v);
}

/* Median, over the iterations, of the slowest rank. */
static inline double peer_typical(struct peer_run *r)
{
	r->p->collect(r->times, r->task.z.iters, 1);
	return bench_median(r->times, r->task.z.iters);
}

/* Median time of @n ops started together. They are on pieces of one vector, for its check. */
static inline double peer_together(struct peer_run *r, int n)
{
	size_t count = peer_count(r);
	double begin;
	int i, k;

	for (i = -r->task.z.warmup; i < r->task.z.iters; i++) {
		r->p->barrier();
		begin = bench_now_us();
		for (k = 0; k < n; k++)
			r->p->start(k, r->in + k * count, r->out + k * count, count);
		for (k = 0; k < n; k++)
			r->p->wait(k);
		if (i >= 0)
			r->times[i] = bench_now_us() - begin;
	}
	return peer_typical(r);
}

static inline void peer_burst(struct peer_run *r)
{
	size_t wrong;

	if (!r->p->start)
		return;
	/* An earlier measurement has left the right values there: a burst that does nothing must fail. */
	memset(r->out, 0, r->task.z.bytes * PEER_BURST);
	peer_row(r, "one_us", peer_together(r, 1));
	peer_row(r, "us", peer_together(r, PEER_BURST));
	wrong = bench_wrong(r->out, peer_count(r) * PEER_BURST, r->p->ranks);
	if (wrong) {
		fprintf(stderr, "rank %d: %zu wrong in a burst\n", r->p->rank, wrong);
		exit(1);
	}
}

/*
 * Switches to threads of this process that slept, so far. A thread that only waits for a CPU
 * that others want has not been woken.
 */
static inline long peer_switches(void)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	long sum = 0, n;
	char text[320];
	FILE *f;

	while (d && (e = readdir(d))) {
		snprintf(text, sizeof(text), "/proc/self/task/%s/status", e->d_name);
		f = atoi(e->d_name) ? fopen(text, "re") : NULL;
		while (f && fgets(text, sizeof(text), f)) {
			if (sscanf(text, "voluntary_ctxt_switches: %ld", &n) == 1)
				sum += n;
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

static inline void peer_idle(struct peer_run *r)
{
	struct timespec ts = { r->task.z.iters, 0 }, settle = { 1, 0 };
	double cpu;
	long n;

	r->p->barrier();
	nanosleep(&settle, NULL);
	n = peer_switches();
	cpu = peer_clock(CLOCK_PROCESS_CPUTIME_ID);
	nanosleep(&ts, NULL);
	r->times[0] = peer_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	/* This nanosleep() is one switch. */
	r->times[1] = (double)(peer_switches() - n - 1);
	nanosleep(&settle, NULL);
	r->p->collect(r->times, 2, 0);
	peer_row(r, "cpu_ms", r->times[0] * 1e3);
	peer_row(r, "switches", r->times[1]);
}

static inline void peer_do(struct peer_run *r)
{
	const char *kind = r->task.kind;

	if (!strcmp(kind, "time"))
		peer_time(r);
	else if (!strcmp(kind, "cpu"))
		peer_cost(r);
	else if (!strncmp(kind, "overlap", 7))
		peer_overlap(r);
	else if (!strcmp(kind, "burst"))
		peer_burst(r);
	else if (!strcmp(kind, "idle"))
		peer_idle(r);
	else if (!r->p->rank)
		fprintf(stderr, "no such task: %s\n", kind);
}

static inline void peer_run(const struct peer *p, int n, char **tasks)
{
	struct peer_run r;
	size_t bytes = 0, need;
	int i, most = 2;

	r.p = p;
	for (i = 0; i < n; i++) {
		peer_parse(tasks[i], &r.task);
		need = r.task.z.bytes * (strcmp(r.task.kind, "burst") ? 1 : PEER_BURST);
		bytes = need > bytes ? need : bytes;
		most = r.task.z.iters > most ? r.task.z.iters : most;
	}
	r.in = bench_buffer(bytes);
	r.out = bench_buffer(bytes);
	r.times = (double *)bench_alloc((size_t)most, sizeof(*r.times));
	bench_fill(r.in, bytes / sizeof(float), p->rank);
	if (p->buffers)
		p->buffers(r.in, r.out, bytes);
	for (i = 0; i < n; i++) {
		peer_parse(tasks[i], &r.task);
		peer_do(&r);
	}
	free(r.times);
}

#endif /* PEER_H */
