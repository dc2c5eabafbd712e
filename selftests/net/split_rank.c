// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... split_rank MODE [N]: one rank of a test of coll_comm_split().
 *
 *	use	parts of all kinds, all in use at the same time, results verified
 *	leak	N splits and finalizes in a row
 *	die	rank N is killed in its part: what do the others of it, the ranks of the
 *		other part, and the parent hear?
 *	gone	rank N is killed while the others wait for it in the split
 *
 * Every rank can work out who is in which part and what the results are.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

#define MAX_RANKS	64
#define COUNT		3001

/**
 * struct part - a communicator and who should be in it
 * @ranks: world ranks in order
 * @n: how many; 0: this rank is in none
 * @me: which of them this rank is
 */
struct part {
	coll_comm_t *comm;
	const char *name;
	uint32_t ranks[MAX_RANKS], n, me;
};

/* How to split: color and key of the rank that is @i-th of @n in the parent. */
struct rule {
	const char *name;
	int32_t (*color)(uint32_t i, uint32_t n);
	int32_t (*key)(uint32_t i, uint32_t n);
};

static uint32_t world_rank;
static uint32_t node_of[MAX_RANKS];	/* in the world */
static int bad;

__attribute__((format(printf, 1, 2)))
static void complain(const char *fmt, ...)
{
	va_list ap;

	if (__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED) > 10)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "rank %u: ", world_rank);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* End the process after an error: it cannot tell the others any more. */
static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "rank %u: %s: %s\n", world_rank, what, coll_strerror(ret));
	exit(1);
}

/* ---- ways to split ---- */

static int32_t zero(uint32_t i, uint32_t n)
{
	return 0;
}

static int32_t parity(uint32_t i, uint32_t n)
{
	return i % 2;
}

static int32_t reversed(uint32_t i, uint32_t n)
{
	return -(int32_t)i;
}

static int32_t one_out(uint32_t i, uint32_t n)
{
	return i == n / 2 ? COLL_UNDEFINED : 5;
}

/* Two thirds and one third, dealt over the nodes; a key with ties and extremes. */
static int32_t uneven(uint32_t i, uint32_t n)
{
	return i % 3 == 1 ? INT32_MAX : 0;
}

static int32_t ties(uint32_t i, uint32_t n)
{
	return i % 4 == 3 ? INT32_MIN : i % 2 ? INT32_MAX : 0;
}

/* The first and the last together, the others together */
static int32_t ends(uint32_t i, uint32_t n)
{
	return i == 0 || i == n - 1;
}

static const struct rule rules[] = {
	{ "even and odd", parity, zero },
	{ "reversed", zero, reversed },
	{ "one undefined", one_out, zero },
	{ "uneven", uneven, ties },
	{ "ends", ends, reversed },
};

#define NR_RULES	(sizeof(rules) / sizeof(rules[0]))

/* The expected members, by a simple sort. */
static void expect_members(const struct part *from, const struct rule *rule, struct part *to)
{
	int32_t color = rule->color(from->me, from->n);
	int32_t keys[MAX_RANKS];
	uint32_t i, k;

	to->n = 0;
	for (i = 0; i < from->n && color != COLL_UNDEFINED; i++) {
		int32_t key = rule->key(i, from->n);

		if (rule->color(i, from->n) != color)
			continue;
		for (k = to->n++; k && keys[k - 1] > key; k--) {
			keys[k] = keys[k - 1];
			to->ranks[k] = to->ranks[k - 1];
		}
		keys[k] = key;
		to->ranks[k] = from->ranks[i];
	}
	for (i = 0; i < to->n; i++)
		if (to->ranks[i] == world_rank)
			to->me = i;
}

static void check_numbers(const struct part *p)
{
	uint32_t i, k, nodes = 0;

	if (coll_comm_rank(p->comm) != p->me || coll_comm_size(p->comm) != p->n)
		complain("%s: rank %u of %u, not %u of %u", p->name, coll_comm_rank(p->comm),
			 coll_comm_size(p->comm), p->me, p->n);
	for (i = 0; i < p->n; i++) {
		uint32_t node = coll_comm_node_of(p->comm, i);
		bool fresh = true;

		if (node >= coll_comm_nodes(p->comm))
			complain("%s: rank %u on node %u", p->name, i, node);
		/* Ranks on one node, and the order of nodes, must be as in the whole. */
		for (k = 0; k < i; k++) {
			uint32_t other = coll_comm_node_of(p->comm, k);

			fresh &= node != other;
			if ((node == other) != (node_of[p->ranks[i]] == node_of[p->ranks[k]]) ||
			    (node < other) != (node_of[p->ranks[i]] < node_of[p->ranks[k]]))
				complain("%s: nodes of %u and %u", p->name, i, k);
		}
		nodes += fresh;
	}
	if (nodes != coll_comm_nodes(p->comm))
		complain("%s: %u nodes, not %u", p->name, coll_comm_nodes(p->comm), nodes);
}

static void split(const struct part *from, const struct rule *rule, struct part *to)
{
	to->name = rule->name;
	to->comm = (void *)1;
	expect_members(from, rule, to);
	must(coll_comm_split(from->comm, rule->color(from->me, from->n),
			     rule->key(from->me, from->n), &to->comm), rule->name);
	if (!to->comm != !to->n)
		complain("%s: %s", rule->name, to->n ? "no communicator" : "a communicator");
	if (to->n)
		check_numbers(to);
}

static void finalize(struct part *p)
{
	must(coll_finalize(p->comm), "coll_finalize");
	p->comm = NULL;
	p->n = 0;
}

/* ---- use ---- */

static uint64_t value(uint32_t rank, uint32_t i, uint32_t salt)
{
	return (rank + 1) * 1000003ULL * (i + 1) + salt * (rank + 7);
}

static uint64_t sum(const struct part *p, uint32_t n, uint32_t i, uint32_t salt)
{
	uint64_t total = 0;
	uint32_t k;

	for (k = 0; k < n; k++)
		total += value(p->ranks[k], i, salt);
	return total;
}

static void fill(uint64_t *buf, uint32_t salt)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		buf[i] = value(world_rank, i, salt);
}

static void check_sum(const struct part *p, uint32_t n, const uint64_t *buf, uint32_t salt,
		      const char *what)
{
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		if (buf[i] != sum(p, n, i, salt))
			return complain("%s: %s at %u", p->name, what, i);
}

/* Blocking collectives; the order of ranks shows in scan, allgather and broadcast. */
static void use(const struct part *p, uint32_t salt)
{
	static __thread uint64_t buf[COUNT], out[COUNT];
	uint64_t mine = value(world_rank, 0, salt), all[MAX_RANKS];
	uint32_t i, root = salt % p->n;

	fill(buf, salt);
	must(coll_allreduce(p->comm, buf, out, COUNT, COLL_U64, COLL_OP_SUM), "allreduce");
	check_sum(p, p->n, out, salt, "allreduce");
	must(coll_scan(p->comm, buf, out, COUNT, COLL_U64, COLL_OP_SUM), "scan");
	check_sum(p, p->me + 1, out, salt, "scan");
	must(coll_allgather(p->comm, &mine, all, 1, COLL_U64), "allgather");
	for (i = 0; i < p->n; i++)
		if (all[i] != value(p->ranks[i], 0, salt))
			complain("%s: allgather at %u", p->name, i);
	must(coll_broadcast(p->comm, buf, COUNT, COLL_U64, root), "broadcast");
	for (i = 0; i < COUNT; i++)
		if (buf[i] != value(p->ranks[root], i, salt))
			return complain("%s: broadcast at %u", p->name, i);
	must(coll_barrier(p->comm), "barrier");
}

/* A nonblocking allreduce on each of @n parts at once, twice over. */
static void use_together(struct part *const *parts, uint32_t n, uint32_t salt)
{
	uint64_t (*buf)[COUNT] = malloc(2 * n * sizeof(*buf));
	coll_request_t *reqs[2 * n];
	uint32_t i;

	if (!buf)
		exit(2);
	for (i = 0; i < 2 * n; i++) {
		reqs[i] = NULL;
		if (!parts[i % n]->n)
			continue;
		fill(buf[i], salt + i);
		must(coll_iallreduce(parts[i % n]->comm, COLL_IN_PLACE, buf[i], COUNT, COLL_U64,
				     COLL_OP_SUM, &reqs[i]), "iallreduce");
	}
	/* Those that were started last are waited for first. */
	for (i = 2 * n; i-- > 0;) {
		if (!reqs[i])
			continue;
		must(coll_wait(reqs[i]), "wait");
		check_sum(parts[i % n], parts[i % n]->n, buf[i], salt + i, "iallreduce");
	}
	free(buf);
}

/* One thread for each part: no order among them. */
static void *use_main(void *arg)
{
	uint32_t i;

	for (i = 0; i < 5; i++)
		use(arg, i);
	return NULL;
}

static void use_by_threads(struct part *const *parts, uint32_t n)
{
	pthread_t threads[n];
	uint32_t i;

	for (i = 0; i < n; i++)
		if (parts[i]->n && pthread_create(&threads[i], NULL, use_main, parts[i]))
			exit(2);
	for (i = 0; i < n; i++)
		if (parts[i]->n)
			pthread_join(threads[i], NULL);
}

/* ---- modes ---- */

static void start(struct part *world)
{
	uint32_t i;

	must(coll_init(NULL, &world->comm), "coll_init");
	coll_comm_set_timeout(world->comm, 30000000000ULL);
	world->name = "world";
	world->n = coll_comm_size(world->comm);
	world->me = world_rank = coll_comm_rank(world->comm);
	if (world->n > MAX_RANKS)
		exit(2);
	for (i = 0; i < world->n; i++) {
		world->ranks[i] = i;
		node_of[i] = coll_comm_node_of(world->comm, i);
	}
}

/* An error on one rank is an error on all; the parent goes on. */
static void refuse(struct part *world)
{
	coll_comm_t *none = (void *)1;
	bool last = world->me == world->n - 1;
	int ret;

	ret = coll_comm_split(world->comm, last ? -5 : 0, 0, &none);
	if (ret != -EINVAL || none)
		complain("color -5 on one rank: %s, %p", coll_strerror(ret), (void *)none);
	ret = coll_comm_split(world->comm, 0, 0, last ? NULL : &none);
	if (ret != -EINVAL || none)
		complain("no newcomm on one rank: %s", coll_strerror(ret));
	use(world, 99);
}

static int mode_use(uint32_t salt)
{
	struct part world, parts[NR_RULES], nested, dup, *all[NR_RULES + 3];
	uint32_t i;

	start(&world);
	refuse(&world);
	for (i = 0; i < NR_RULES; i++) {
		split(&world, &rules[i], &parts[i]);
		all[i] = &parts[i];
	}
	nested.n = 0;
	split(&parts[0], &rules[1], &nested);
	dup = nested;
	dup.name = "dup";
	must(coll_comm_dup(nested.comm, &dup.comm), "coll_comm_dup");
	check_numbers(&dup);
	all[NR_RULES] = &nested;
	all[NR_RULES + 1] = &dup;
	all[NR_RULES + 2] = &world;
	for (i = 0; i < NR_RULES + 3; i++)
		if (all[i]->n)
			use(all[i], salt + i);
	use_together(all, NR_RULES + 3, salt);
	use_by_threads(all, NR_RULES + 3);
	/* Parents first */
	finalize(&world);
	finalize(&parts[0]);
	for (i = 1; i < NR_RULES; i++)
		if (parts[i].n)
			use(&parts[i], salt + i);
	finalize(&nested);
	use(&dup, salt);
	split(&dup, &rules[3], &nested);
	finalize(&dup);
	use(&nested, salt);
	finalize(&nested);
	for (i = 1; i < NR_RULES; i++)
		if (parts[i].n)
			finalize(&parts[i]);
	return bad != 0;
}

static uint32_t nr_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int mode_leak(uint32_t n)
{
	uint32_t i, before = 0;
	struct part world, p;

	start(&world);
	for (i = 0; i < n; i++) {
		/* By now all descriptors that are opened only once are open. */
		if (i == NR_RULES)
			before = nr_fds();
		split(&world, &rules[i % NR_RULES], &p);
		if (!p.n)
			continue;
		if (i % 10 == 0)
			use(&p, i);
		finalize(&p);
	}
	if (nr_fds() != before)
		complain("%u files open, not %u", nr_fds(), before);
	use(&world, 1);
	finalize(&world);
	return bad != 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void expect_down(int ret, const char *what)
{
	if (ret != -EHOSTDOWN)
		complain("%s: %s, not EHOSTDOWN", what, coll_strerror(ret));
}

static void check_cause(struct part *p, uint32_t victim)
{
	struct coll_status st;

	must(coll_comm_status(p->comm, &st), "coll_comm_status");
	if (st.cause.kind != COLL_CAUSE_EXIT || st.cause.rank >= p->n ||
	    p->ranks[st.cause.rank] != victim || st.cause.signal != SIGKILL)
		complain("%s: cause %u, rank %u, signal %u", p->name, st.cause.kind,
			 st.cause.rank, st.cause.signal);
}

/* Allreduces until all have done so for @seconds; 0 or the error of one. */
static int work(struct part *p, double seconds)
{
	double end = now() + seconds;
	uint32_t done = 0;
	int ret = 0;

	while (!ret && done < p->n) {
		uint32_t mine = now() > end;

		ret = coll_allreduce(p->comm, &mine, &done, 1, COLL_U32, COLL_OP_SUM);
	}
	return ret;
}

/* The victim dies when all others have come here. They do not wait until it has got their word. */
static void await_all(struct part *world, uint32_t victim)
{
	uint32_t word = 0, i;

	if (world_rank != victim) {
		coll_send(world->comm, &word, 1, COLL_U32, victim, 0);
		return;
	}
	for (i = 0; i < world->n; i++)
		if (i != victim)
			must(coll_recv(world->comm, &word, 1, COLL_U32, i, 0, NULL), "a word");
}

static int mode_die(uint32_t victim)
{
	struct part world, half, copy;

	start(&world);
	split(&world, &rules[0], &half);
	copy = half;
	copy.name = "dup";
	must(coll_comm_dup(half.comm, &copy.comm), "coll_comm_dup");
	must(work(&half, 0.3), "before");
	await_all(&world, victim);
	if (world_rank == victim)
		raise(SIGKILL);
	if (world_rank % 2 == victim % 2) {
		expect_down(work(&half, 60), "its part");
		check_cause(&half, victim);
		expect_down(coll_barrier(copy.comm), "a copy of its part");
		expect_down(coll_comm_dup(half.comm, &copy.comm), "another copy");
	} else {
		must(work(&half, 1), "the other part");
		use(&half, 1);
	}
	expect_down(coll_barrier(world.comm), "the parent");
	check_cause(&world, victim);
	if (world_rank % 2 != victim % 2)
		use(&half, 2);
	printf("heard %d\n", bad);
	coll_finalize(half.comm);
	coll_finalize(copy.comm);
	coll_finalize(world.comm);
	return bad != 0;
}

static int mode_gone(uint32_t victim)
{
	coll_comm_t *none = (void *)1;
	struct part world;
	double begin;

	start(&world);
	must(coll_barrier(world.comm), "barrier");
	await_all(&world, victim);
	begin = now();
	if (world_rank == victim) {
		usleep(300000);
		raise(SIGKILL);
	}
	expect_down(coll_comm_split(world.comm, 0, 0, &none), "split");
	if (none || now() - begin > 60)
		complain("after %.1f s, %p", now() - begin, (void *)none);
	printf("heard %d\n", bad);
	coll_finalize(world.comm);
	return bad != 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	uint32_t n = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "use"))
		return mode_use(n);
	if (!strcmp(mode, "leak"))
		return mode_leak(n);
	if (!strcmp(mode, "die"))
		return mode_die(n);
	if (!strcmp(mode, "gone"))
		return mode_gone(n);
	fprintf(stderr, "usage: split_rank use|leak|die|gone [N]\n");
	return 2;
}
