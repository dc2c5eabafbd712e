// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Several links to each node. The number is measured: large allreduces go over one link and over
 * two links in turns, and the time of a run is that of the slowest rank. If two links are clearly
 * faster, two more are made and compared, and so on. All ranks have the same times, so they decide
 * alike.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/debug.h"
#include "comm/comm.h"
#include "select_measure.h"
#include "stripes.h"

/*
 * The size of the vector: it should take LONG_ENOUGH seconds over one link, and BEYOND_LATENCY
 * times as long as a barrier. A vector that takes TOO_LONG is long enough in any case. If it takes
 * GIVE_UP seconds, one link is used, because measuring would take too long. Sizes go from
 * BYTES_LEAST to BYTES_MOST, each four times the one before.
 */
#define LONG_ENOUGH	4e-3
#define BEYOND_LATENCY	3
#define TOO_LONG	30e-3
#define GIVE_UP		0.2
#define BYTES_LEAST	(256ULL << 10)
#define BYTES_MOST	(4ULL << 20)
/*
 * Pairs of runs, one over fewer and one over more links: at most PAIRS, and PAIRS_LATE when BUDGET
 * seconds have passed. More links may be slower in one pair, but not in two.
 */
#define PAIRS		5
#define PAIRS_LATE	3
#define BUDGET		0.1
/* Runs over new links that do not count. */
#define WARM_MOST	6
/* More links have to take this part of the time, or less: each costs memory and a worker. */
#define WORTH		0.9
/* With more nodes than this there is one link to each: many links to all would be too many. */
#define NODES_MOST	16
/*
 * Sizes of parts that are tried: from LEAST_LEAST on, each four times the one before, up to the
 * default of the kernel.
 */
#define LEAST_LEAST	(16ULL << 10)
#define LEAST		(128ULL << 10)

/**
 * struct trial - measuring under way
 * @buf: vector of up to BYTES_MOST
 * @bytes: of the vector
 * @once: seconds that the vector takes over one link
 */
struct trial {
	coll_comm_t *comm;
	struct deadline deadline;
	void *buf;
	uint64_t bytes;
	double once;
};

int stripes_env(struct stripes *s)
{
	char *end;
	const char *v = getenv("COLL_STRIPES"), *select = getenv("COLL_SELECT");

	*s = (struct stripes){ STRIPES_AUTO, 0 };
	if (!v || !*v)
		s->links = select && !strcmp(select, "off") ? 1 : STRIPES_UNSET;
	if (!v || !*v || !strcmp(v, "auto"))
		return 0;
	s->links = (uint32_t)(v[0] - '0');
	if (v[0] >= '1' && v[0] <= '0' + COLL_MAX_LINKS && !v[1])
		return 0;
	if (v[0] >= '1' && v[0] <= '0' + COLL_MAX_LINKS && v[1] == ':' && v[2] >= '1' &&
	    v[2] <= '9') {
		errno = 0;
		s->least = strtoull(v + 2, &end, 10);
		if (!*end && !errno)
			return 0;
	}
	coll_explain("COLL_STRIPES=%s: neither auto nor 1 to %d, with or without :BYTES", v,
		     COLL_MAX_LINKS);
	return -EINVAL;
}

int stripes_set(coll_comm_t *comm, const struct stripes *s)
{
	struct coll_stripe k = { .links = s->links ? s->links : 1, .least = s->least };

	/* An older module has one link, and no COLL_IOC_STRIPE. */
	if (k.links == 1 && !(comm->version.features & COLL_FEAT_STRIPE))
		return 0;
	if (ioctl(comm->fd, COLL_IOC_STRIPE, &k))
		return -errno;
	comm->stripes = *s;
	return 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int allreduce(struct trial *t, void *vec, uint64_t count, enum coll_dtype dtype,
		     enum coll_op_code op, enum coll_algorithm_id alg)
{
	struct coll_cmd cmd;

	coll_cmd_allreduce(t->comm, &cmd, COLL_IN_PLACE, vec, count, dtype, op);
	cmd.algorithm = (uint16_t)alg;
	cmd.timeout_ns = ((uint64_t)deadline_left(t->deadline) + 1) * 1000000;
	return coll_submit(t->comm, &cmd);
}

/* Replace @value by the largest value of all ranks. */
static int largest(struct trial *t, double *value)
{
	return allreduce(t, value, 1, COLL_F64, COLL_OP_MAX, COLL_ALG_RECURSIVE_DOUBLING);
}

static int barrier(struct trial *t)
{
	return select_run(t->comm, t->deadline, COLL_BARRIER, COLL_ALG_DISSEMINATION, NULL, NULL,
			  0);
}

/* Measure the seconds that a vector takes over @links links, on the slowest rank. */
static int run(struct trial *t, uint32_t links, double *seconds)
{
	const struct stripes s = { links, t->bytes / links };
	double begin;
	int ret;

	/* COLL_IOC_STRIPE needs that no op is posted. */
	ret = barrier(t);
	if (!ret)
		ret = stripes_set(t->comm, &s);
	if (ret) {
		/* The others would wait in the allreduce: they have to get an error. */
		coll_abort(t->comm, (uint32_t)-ret);
		return ret;
	}
	begin = now();
	ret = allreduce(t, t->buf, t->bytes / 4, COLL_F32, COLL_OP_SUM, COLL_ALG_RING);
	*seconds = now() - begin;
	return ret ? ret : largest(t, seconds);
}

static int cmp(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Find a size that takes long enough over one link to be measured. */
static int find_bytes(struct trial *t)
{
	double begin, latency;
	int ret;

	ret = barrier(t);
	begin = now();
	if (!ret)
		ret = barrier(t);
	latency = now() - begin;
	if (!ret)
		ret = largest(t, &latency);
	for (t->bytes = BYTES_LEAST; !ret; t->bytes *= 4) {
		ret = run(t, 1, &t->once);
		/* Measure again: the first run pins pages and opens the window of TCP. */
		if (!ret && t->once > LONG_ENOUGH)
			ret = run(t, 1, &t->once);
		if (t->bytes == BYTES_MOST ||
		    (t->once > LONG_ENOUGH && t->once > BEYOND_LATENCY * latency) ||
		    t->once > TOO_LONG)
			break;
	}
	return ret;
}

/*
 * Has the time passed on any rank? The ranks share the answer, because their clocks may differ.
 */
static int is_late(struct trial *t, double end, bool *late)
{
	double is = now() > end;
	int ret = largest(t, &is);

	*late = is > 0;
	return ret;
}

static double median(double *times, uint32_t nr)
{
	qsort(times, nr, sizeof(*times), cmp);
	return times[(nr - 1) / 2];
}

/* Run until the TCP windows of new connections are open: over long distances several times. */
static int warm_up(struct trial *t, uint32_t links)
{
	double last = 0, time = 0;
	int ret = 0, i;

	for (i = 0; !ret && i < WARM_MOST && (i < 2 || time < WORTH * last); i++) {
		last = time;
		ret = run(t, links, &time);
	}
	return ret;
}

/* Are @more links clearly better than @few? */
static int compare(struct trial *t, uint32_t few, uint32_t more, bool *better)
{
	double a[PAIRS], b[PAIRS], end;
	uint32_t i, wins = 0;
	bool late = false;
	int ret;

	ret = warm_up(t, more);
	end = now() + BUDGET;
	for (i = 0; !ret && i < PAIRS && !late; i++) {
		ret = run(t, few, &a[i]);
		if (!ret)
			ret = run(t, more, &b[i]);
		wins += !ret && b[i] < WORTH * a[i];
		if (!ret && i + 1 >= PAIRS_LATE)
			ret = is_late(t, end, &late);
		late |= i + 1 - wins == 2;
	}
	if (ret)
		return ret;
	/* Faster in all pairs but one, and by the median: single runs must not decide. */
	*better = wins + 1 >= i && median(b, i) < WORTH * median(a, i);
	coll_debug("%llu bytes: %.2f ms over %u links, %.2f over %u, which win %u times of %u",
		   (unsigned long long)t->bytes, 1e3 * median(a, i), few, 1e3 * median(b, i),
		   more, wins, i);
	return 0;
}

/* Find the smallest size of parts for which these links are faster. */
static int find_least(struct trial *t, struct stripes *s)
{
	bool better = false;
	uint64_t least;
	int ret;

	for (least = LEAST_LEAST; least < LEAST; least *= 4) {
		t->bytes = least * s->links;
		ret = compare(t, 1, s->links, &better);
		if (ret)
			return ret;
		if (better) {
			s->least = least;
			break;
		}
	}
	return 0;
}

static int choose(struct trial *t, const struct stripes_more *more, struct stripes *s)
{
	uint32_t links = 1;
	bool better = true;
	int ret;

	ret = find_bytes(t);
	while (!ret && t->once < GIVE_UP && links < COLL_MAX_LINKS) {
		ret = more->connect(more->ctx, links, 2 * links);
		if (!ret)
			ret = compare(t, links, 2 * links, &better);
		if (ret || !better)
			break;
		links *= 2;
	}
	*s = (struct stripes){ links, 0 };
	return ret || links == 1 ? ret : find_least(t, s);
}

bool stripes_may_profit(const coll_comm_t *comm)
{
	return comm->nr_nodes > 1 && comm->nr_nodes <= NODES_MOST;
}

int stripes_measure(coll_comm_t *comm, struct deadline deadline, const struct stripes_more *more)
{
	struct trial t = { .comm = comm, .deadline = deadline };
	double missing, begin = now();
	struct stripes s = { 1, 0 };
	int ret;

	t.buf = mmap(NULL, BYTES_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	missing = t.buf == MAP_FAILED;
	ret = largest(&t, &missing);
	if (!ret && missing == 0)
		ret = choose(&t, more, &s);
	if (!ret)
		ret = barrier(&t);
	if (!ret) {
		ret = stripes_set(comm, &s);
		if (ret)
			coll_abort(comm, (uint32_t)-ret);
	}
	coll_debug("large collectives go over %u links, from %llu bytes each; that took %.1f ms",
		   s.links, (unsigned long long)s.least, 1e3 * (now() - begin));
	if (t.buf != MAP_FAILED)
		munmap(t.buf, BYTES_MOST);
	return ret;
}
