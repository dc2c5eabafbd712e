// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... share_rank MODE ...: one rank of a test of communicators that share links.
 *
 *	order COPIES BYTES SEED	nonblocking allreduces on all communicators, which each
 *				rank starts in an order of its own, verified; then the
 *				parents end first
 *	sockets COPIES		prints how many more TCP sockets there are after that many
 *				coll_comm_dup()
 *	storm VICTIM BYTES	even and odd ranks work; VICTIM is killed: its part hears
 *				of it, the other one goes on
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

#include "rand.h"
#include "rank.h"

#define MAX_COMMS	20
#define DEPTH		2	/* ops in flight on each */

/* One nonblocking allreduce. */
struct job {
	coll_request_t *req;
	uint32_t *buf;
	uint32_t comm, salt;
};

static coll_comm_t *comms[MAX_COMMS];
static uint32_t nr_comms, size;
static uint64_t count, lots;

static uint32_t value(uint32_t r, uint64_t i, uint32_t salt)
{
	return (uint32_t)(i * 2654435761U + r * 40503U + salt);
}

static int begin(struct job *j, uint32_t comm, uint32_t salt)
{
	uint64_t i;

	j->comm = comm;
	j->salt = salt;
	for (i = 0; i < count; i++)
		j->buf[i] = value(coll_comm_rank(comms[comm]), i, salt);
	return coll_iallreduce(comms[comm], COLL_IN_PLACE, j->buf, count, COLL_U32,
			       COLL_OP_SUM, &j->req);
}

/* Return: 0, or the op's error; wrong numbers end the process. */
static int end(struct job *j)
{
	uint32_t n = coll_comm_size(comms[j->comm]);
	uint32_t ranks = n * (n - 1) / 2;
	int ret = coll_wait(j->req);
	uint64_t i;

	for (i = 0; !ret && i < count; i++) {
		uint32_t want = (uint32_t)(n * (uint32_t)(i * 2654435761U + j->salt) +
					   ranks * 40503U);

		if (j->buf[i] != want) {
			fprintf(stderr, "rank %u: communicator %u: %u at %llu, not %u\n", me,
				j->comm, j->buf[i], (unsigned long long)i, want);
			exit(1);
		}
	}
	return ret;
}

static uint32_t *buffer(void)
{
	uint32_t *buf = malloc(count * sizeof(*buf) + 1);

	if (!buf)
		exit(2);
	return buf;
}

/* 0 .. n-1: ascending on even ranks and descending on odd ones, or shuffled. */
static void draw_order(uint32_t *order, uint32_t n, int shuffled)
{
	uint32_t i, k, t;

	for (i = 0; i < n; i++)
		order[i] = me % 2 ? n - 1 - i : i;
	for (i = n; shuffled && i > 1; i--) {
		k = test_below(&lots, i);
		t = order[k];
		order[k] = order[i - 1];
		order[i - 1] = t;
	}
}

/* DEPTH ops on each communicator from @first on, in this rank's order. */
static void all_at_once(uint32_t first, int shuffled)
{
	struct job jobs[MAX_COMMS][DEPTH];
	uint32_t order[MAX_COMMS], n = nr_comms - first;
	uint32_t i, d;

	draw_order(order, n, shuffled);
	for (d = 0; d < DEPTH; d++) {
		for (i = 0; i < n; i++) {
			jobs[order[i]][d].buf = buffer();
			must(begin(&jobs[order[i]][d], first + order[i], d * 100 + order[i]),
			     "iallreduce");
			/* let what the others have begun arrive where nobody wants it */
			usleep(test_below(&lots, 3) * 10000);
		}
	}
	for (d = 0; d < DEPTH; d++) {
		for (i = 0; i < n; i++) {
			must(end(&jobs[i][d]), "wait");
			free(jobs[i][d].buf);
		}
	}
}

static void start(uint32_t copies)
{
	must(coll_init(NULL, &comms[0]), "coll_init");
	coll_comm_set_timeout(comms[0], 60000000000ULL);
	me = coll_comm_rank(comms[0]);
	size = coll_comm_size(comms[0]);
	nr_comms = 1;
	if (copies >= MAX_COMMS)
		exit(2);
	/* copies, copies of copies, ... */
	for (; nr_comms <= copies; nr_comms++)
		must(coll_comm_dup(comms[nr_comms / 2], &comms[nr_comms]), "coll_comm_dup");
}

static int mode_order(uint32_t copies, uint64_t bytes, uint64_t seed)
{
	uint32_t i;

	start(copies);
	lots = seed * 1000003 + me + 1;
	count = bytes / sizeof(uint32_t);
	all_at_once(0, 0);
	for (i = 0; i < 3; i++)
		all_at_once(0, 1);
	for (i = 0; i < nr_comms; i++) {
		must(coll_finalize(comms[i]), "coll_finalize");
		if (i + 1 < nr_comms && (i < 2 || i + 2 == nr_comms))
			all_at_once(i + 1, 0);
	}
	return 0;
}

/* TCP sockets in use in our network, LISTEN and the like not counted. */
static uint32_t nr_sockets(void)
{
	static const char *const files[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	unsigned int state, i;
	uint32_t n = 0;
	char line[512];
	FILE *f;

	for (i = 0; i < 2; i++) {
		f = fopen(files[i], "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, " %*u: %*s %*s %x", &state) == 1 && state == 1)
				n++;
		if (f)
			fclose(f);
	}
	return n;
}

static int mode_sockets(uint32_t copies)
{
	uint32_t before;

	start(0);
	must(coll_barrier(comms[0]), "barrier");
	before = nr_sockets();
	must(coll_barrier(comms[0]), "barrier");
	for (; nr_comms <= copies; nr_comms++)
		must(coll_comm_dup(comms[nr_comms / 2], &comms[nr_comms]), "coll_comm_dup");
	must(coll_barrier(comms[0]), "barrier");
	printf("sockets %d\n", (int)(nr_sockets() - before));
	must(coll_barrier(comms[0]), "barrier");
	count = 1000;
	all_at_once(0, 0);
	while (nr_comms)
		must(coll_finalize(comms[--nr_comms]), "coll_finalize");
	return 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/*
 * Allreduces on the part, two in flight, @times or until one fails. If @kill_at is not 0, this rank
 * kills itself after that time, in the middle of an op.
 */
static int storm(uint32_t times, double kill_at)
{
	struct job jobs[2] = { { .buf = buffer() }, { .buf = buffer() } };
	uint32_t i, pending = 0;
	int ret = 0, err;

	for (i = 0; !ret && i < times; i++) {
		ret = begin(&jobs[i % 2], 1, i);
		pending += !ret;
		if (kill_at && now() > kill_at)
			raise(SIGKILL);
		if (pending == 2) {
			ret = end(&jobs[(i + 1) % 2]);
			pending--;
		}
	}
	/* The last one that was begun, if it has not been waited for. */
	if (pending) {
		err = end(&jobs[(i + 1) % 2]);
		ret = ret ? ret : err;
	}
	free(jobs[0].buf);
	free(jobs[1].buf);
	return ret;
}

/* The other part works on, until the victim has been gone for long. */
static int work_on(double until)
{
	int ret = storm(20, 0);
	uint32_t mine, some = 1;

	while (!ret && some) {
		mine = now() < until;
		ret = coll_allreduce(comms[1], &mine, &some, 1, COLL_U32, COLL_OP_MAX);
		if (!ret)
			ret = storm(4, 0);
	}
	return ret;
}

static int mode_storm(uint32_t victim, uint64_t bytes)
{
	bool hit;
	int ret;

	start(0);
	count = bytes / sizeof(uint32_t);
	hit = me % 2 == victim % 2;
	must(coll_comm_split(comms[0], (int32_t)(me % 2), 0, &comms[nr_comms++]), "split");
	if (hit)
		ret = storm(1000000, me == victim ? now() + 1 : 0);
	else
		ret = work_on(now() + 2);
	if (ret != (hit ? -EHOSTDOWN : 0))
		fprintf(stderr, "rank %u: %s\n", me, coll_strerror(ret));
	else
		printf("heard it\n");
	coll_finalize(comms[1]);
	coll_finalize(comms[0]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	uint32_t n = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	uint64_t bytes = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "order"))
		return mode_order(n, bytes, argc > 4 ? strtoull(argv[4], NULL, 0) : 1);
	if (!strcmp(mode, "sockets"))
		return mode_sockets(n);
	if (!strcmp(mode, "storm"))
		return mode_storm(n, bytes);
	fprintf(stderr, "usage: share_rank order COPIES BYTES SEED | sockets COPIES | storm VICTIM BYTES\n");
	return 2;
}
