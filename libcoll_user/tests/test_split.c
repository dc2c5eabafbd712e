// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * coll_comm_split over loopback, no kernel module: ranks are threads, and what the
 * kernel would do is done here: comm_*() of init.c, and the parent's allreduce.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/deadline.h"
#include "comm/comm.h"
#include "comm/links.h"
#include "comm/topology.h"
#include "net/resolve.h"
#include "select/select_inherit.h"
#include "setup/shm_limit.h"
#include "tap.h"

#define RANKS		8
#define MAX_GROUPS	64
#define MAX_COMMS	256
#define MAX_GIVEN	1024
/* On a busy machine a split may take this long. A rank waits 80 s for another one. */
#define BOUND_MS	60000

/**
 * struct group - a communicator as the kernel has it
 * @present: ranks in the running allreduce; @turn: which one that is
 * @failed: sticky error
 */
struct group {
	uint8_t job[AUTH_LEN], secret[AUTH_LEN];
	uint32_t size, joined;
	uint32_t node_of[RANKS];
	uint64_t acc[128], result[128];
	uint32_t present, turn;
	int failed;
};

/* A stream as it would have gone to the kernel. */
struct given {
	struct group *group;
	uint32_t node, peer, stripe;
	int fd;
	bool dialed;
};

/* A fault, on one rank of the parent. */
enum fault {
	FAULT_NONE,
	FAULT_COLOR,	/* a negative color */
	FAULT_NULL,	/* nowhere to put the result */
	FAULT_JOIN,	/* the kernel refuses */
	FAULT_LINK,	/* the kernel refuses a stream */
	FAULT_SLOW,	/* a leader sleeps over the deadline */
	FAULT_DEAD,	/* the rank is found dead while others connect */
	FAULT_ADDRESS,	/* it cannot listen where it should */
	FAULT_SECRET,	/* it has another secret than the others */
	FAULT_ABSENT,	/* it never calls */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group groups[MAX_GROUPS];
static struct { coll_comm_t *comm; struct group *group; } comms[MAX_COMMS];
static struct given given[MAX_GIVEN];
static unsigned int nr_groups, nr_given;
static bool mixed_up, parent_fails;

static __thread enum fault fault;

/* ---- the kernel ---- */

static struct group *group_of(const coll_comm_t *comm)
{
	int i;

	for (i = 0; i < MAX_COMMS; i++)
		if (comms[i].comm == comm)
			return comms[i].group;
	abort();
}

static void set_group(const coll_comm_t *comm, coll_comm_t *now, struct group *group)
{
	int i = 0;

	while (comms[i].comm != comm)
		if (++i == MAX_COMMS)
			abort();
	comms[i].comm = now;
	comms[i].group = group;
}

int comm_new(coll_comm_t **out, uint32_t rank, uint32_t size)
{
	coll_comm_t *comm = calloc(1, sizeof(*comm));

	if (!comm)
		abort();
	comm->rank = rank;
	comm->size = size;
	comm->node_of = calloc(size, sizeof(uint32_t));
	comm->origin = calloc(size, sizeof(uint32_t));
	comm->fd = -1;
	*out = comm;
	return 0;
}

void comm_free(coll_comm_t *comm)
{
	if (comm->fd >= 0) {
		pthread_mutex_lock(&lock);
		set_group(comm, NULL, NULL);
		pthread_mutex_unlock(&lock);
		close(comm->fd);
	}
	free(comm->device);
	free(comm->node_of);
	free(comm->origin);
	free(comm);
}

int coll_finalize(coll_comm_t *comm)
{
	if (comm)
		comm_free(comm);
	return 0;
}

int comm_open(coll_comm_t *comm, const char *device)
{
	comm->device = strdup(device);
	comm->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	pthread_mutex_lock(&lock);
	set_group(NULL, comm, NULL);
	pthread_mutex_unlock(&lock);
	return comm->fd < 0 ? -errno : 0;
}

int comm_set_nodes(coll_comm_t *comm, const struct topology *t)
{
	comm->node = t->node;
	comm->nr_nodes = t->nr_nodes;
	memcpy(comm->node_of, t->node_of, t->size * sizeof(uint32_t));
	memcpy(comm->origin, t->origin, t->nr_nodes * sizeof(uint32_t));
	return 0;
}

static struct group *find_group(const uint8_t *job)
{
	unsigned int i;

	for (i = 0; i < nr_groups; i++)
		if (!memcmp(groups[i].job, job, AUTH_LEN))
			return &groups[i];
	if (nr_groups == MAX_GROUPS)
		abort();
	memcpy(groups[nr_groups].job, job, AUTH_LEN);
	return &groups[nr_groups++];
}

int comm_join(coll_comm_t *comm, const struct job_secret *secret, const uint8_t *job)
{
	const struct auth_part part = { job, AUTH_LEN };
	struct group *g;
	uint64_t used = 0;
	uint32_t i;

	if (fault == FAULT_JOIN)
		return -EMFILE;
	if (fault == FAULT_ADDRESS)
		memset(&comm->here, 0, sizeof(comm->here));
	pthread_mutex_lock(&lock);
	g = find_group(job);
	if (!g->joined++) {
		g->size = comm->size;
		memcpy(g->secret, secret->key, AUTH_LEN);
		memcpy(g->node_of, comm->node_of, comm->size * sizeof(uint32_t));
	}
	/* As the kernel checks: every number is in use. */
	for (i = 0; i < comm->size; i++)
		used |= 1ULL << comm->node_of[i];
	mixed_up |= g->joined > g->size || g->size != comm->size ||
		    used != (1ULL << comm->nr_nodes) - 1 ||
		    memcmp(g->node_of, comm->node_of, comm->size * sizeof(uint32_t)) ||
		    (fault != FAULT_SECRET && memcmp(g->secret, secret->key, AUTH_LEN));
	set_group(comm, comm, g);
	pthread_mutex_unlock(&lock);
	return auth_mac(secret->key, "coll family", &part, 1, comm->family.key);
}

int stripes_set(coll_comm_t *comm, const struct stripes *s)
{
	comm->stripes = *s;
	return 0;
}

static void fail_groups(int err)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_groups; i++)
		groups[i].failed = err;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

int comm_link(void *ctx, uint32_t peer, uint32_t stripe, int fd)
{
	coll_comm_t *comm = ctx;
	struct timespec long_sleep = { .tv_sec = 7, .tv_nsec = 500000000 };
	struct group *g;

	if (fault == FAULT_SLOW) {
		nanosleep(&long_sleep, NULL);
		fault = FAULT_NONE;
	}
	if (fault == FAULT_DEAD)
		fail_groups(-EHOSTDOWN);
	if (fault == FAULT_LINK) {
		close(fd);
		return -EBUSY;
	}
	pthread_mutex_lock(&lock);
	g = group_of(comm);
	given[nr_given++] = (struct given){
		g, comm->node, peer, stripe, fd, comm->origin[comm->node] < comm->origin[peer],
	};
	pthread_mutex_unlock(&lock);
	return send(fd, &comm->node, 4, MSG_NOSIGNAL) == 4 ? 0 : -EPIPE;
}

void coll_cmd_allreduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send, void *recv,
			uint64_t count, enum coll_dtype dtype, enum coll_op_code op)
{
	if (send != COLL_IN_PLACE)
		abort();
	memset(cmd, 0, sizeof(*cmd));
	cmd->dtype = (uint16_t)dtype;
	cmd->op = (uint16_t)op;
	cmd->count = count;
	cmd->recv_addr = (uint64_t)(uintptr_t)recv;
}

static void fold(struct group *g, const struct coll_cmd *cmd, const void *in)
{
	const uint64_t *words = in;
	const int32_t *ints = in;
	int32_t *acc = (int32_t *)g->acc;
	uint64_t i;

	for (i = 0; i < cmd->count; i++) {
		if (cmd->dtype == COLL_U64)
			g->acc[i] |= words[i];
		else if (acc[i] < ints[i])
			acc[i] = ints[i];
	}
}

int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	void *buf = (void *)(uintptr_t)cmd->recv_addr;
	size_t bytes = cmd->count * (cmd->dtype == COLL_U64 ? 8 : 4);
	struct timespec until;
	struct group *g;
	uint32_t turn;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(cmd->timeout_ns / 1000000000);
	until.tv_nsec += (long)(cmd->timeout_ns % 1000000000);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	g = group_of(comm);
	if (g->failed) {
		ret = g->failed;
		pthread_mutex_unlock(&lock);
		return ret;
	}
	turn = g->turn;
	if (!g->present)
		memset(g->acc, 0, sizeof(g->acc));
	fold(g, cmd, buf);
	if (++g->present == g->size) {
		memcpy(g->result, g->acc, sizeof(g->acc));
		g->present = 0;
		g->turn++;
		pthread_cond_broadcast(&changed);
	}
	while (g->turn == turn && !g->failed && !ret)
		ret = pthread_cond_timedwait(&changed, &lock, &until);
	if (g->turn == turn && !g->failed) {
		g->failed = -ETIMEDOUT;
		pthread_cond_broadcast(&changed);
	}
	ret = g->turn == turn ? g->failed : 0;
	if (!ret)
		memcpy(buf, g->result, bytes);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Tables are another test's: selftests/net/select.sh. */
int select_inherit(coll_comm_t *child, const coll_comm_t *parent, const uint32_t *members,
		   struct deadline deadline)
{
	return 0;
}

int select_copy(coll_comm_t *child, const coll_comm_t *parent)
{
	return 0;
}

/* Shared memory is that of test_shm.c. Here each rank tells its own rank. */
int shm_offer(coll_comm_t *comm, const coll_comm_t *like, uint8_t *blob)
{
	blob[0] = 1;
	put_le32(blob + 1, comm->rank);
	return 0;
}

/* @limit: ranks that have been heard, in order */
void shm_hear(struct shm_terms *t, uint32_t rank, const uint8_t *blob)
{
	if (!rank)
		*t = (struct shm_terms){ .all = true };
	t->all = t->all && blob[0] == 1 && get_le32(blob + 1) == rank && t->limit[0] == rank;
	t->limit[0]++;
}

int shm_settle(coll_comm_t *comm, const struct shm_terms *t, struct deadline deadline)
{
	return t->all && t->limit[0] == comm->size ? 0 : -EBADE;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	return 0;
}

/* ---- ranks ---- */

/**
 * struct rank - one thread
 * @good: all was as it should be
 * @result: what the first split returned, after @took_ms
 */
struct rank {
	pthread_t thread;
	uint32_t rank;
	const uint32_t *nodes;
	void (*body)(struct rank *r, coll_comm_t *world);
	enum fault fault;
	uint32_t timeout_ms;
	bool good;
	int result;
	int64_t took_ms;
};

/* The parent as coll_init() would have made it; rank 0 does not know its address. */
static coll_comm_t *make_world(const struct rank *r)
{
	static const struct job_secret secret = { "a secret" };
	uint8_t ids[RANKS * AUTH_LEN] = { 0 }, job[AUTH_LEN] = "world";
	struct topology t;
	coll_comm_t *world;
	int i;

	for (i = 0; i < RANKS; i++)
		ids[i * AUTH_LEN] = (uint8_t)r->nodes[i];
	comm_new(&world, r->rank, RANKS);
	if (topology_init(&t, r->rank, RANKS, ids, AUTH_LEN))
		abort();
	comm_set_nodes(world, &t);
	topology_destroy(&t);
	world->timeout_ms = r->timeout_ms;
	if (r->rank)
		resolve_until("127.0.0.1:1", deadline_in(1000), &world->here, 1);
	sock_set_port(&world->here, 0);
	if (comm_open(world, "fake") || comm_join(world, &secret, job))
		abort();
	return world;
}

static void *rank_main(void *arg)
{
	struct rank *r = arg;
	coll_comm_t *world = make_world(r);

	r->good = true;
	fault = r->fault;
	if (fault == FAULT_SECRET)
		world->family.key[0] ^= 1;
	r->body(r, world);
	comm_free(world);
	return NULL;
}

static void expect(struct rank *r, bool good, const char *what)
{
	if (!good)
		printf("# rank %u: %s\n", r->rank, what);
	r->good &= good;
}

/* Combine one bit of each rank: does @comm have the ranks that it should have? */
static void check_members(struct rank *r, coll_comm_t *comm, uint64_t members)
{
	uint64_t word = 1ULL << r->rank;
	struct coll_cmd cmd;

	coll_cmd_allreduce(comm, &cmd, COLL_IN_PLACE, &word, 1, COLL_U64, COLL_OP_BOR);
	cmd.timeout_ns = 80000000000;
	expect(r, !coll_submit(comm, &cmd) && word == members, "other members than expected");
}

static uint64_t set_of(uint32_t first, uint32_t step)
{
	uint64_t set = 0;

	for (; first < RANKS; first += step)
		set |= 1ULL << first;
	return set;
}

static void split(struct rank *r, coll_comm_t *comm, int32_t color, int32_t key,
		  coll_comm_t **child)
{
	int64_t begin = now_ms();

	r->result = coll_comm_split(comm, color, key, child);
	r->took_ms = now_ms() - begin;
	expect(r, !r->result, strerror(-r->result));
}

static void body_odd(struct rank *r, coll_comm_t *world)
{
	coll_comm_t *c;

	split(r, world, (int32_t)r->rank % 2, 0, &c);
	if (!c)
		return;
	expect(r, c->size == RANKS / 2 && c->rank == r->rank / 2, "rank or size");
	check_members(r, c, set_of(r->rank % 2, 2));
	comm_free(c);
}

/* Reverse the ranks without rank 0, then reverse them again in two parts, then copy a part. */
static void body_nested(struct rank *r, coll_comm_t *world)
{
	coll_comm_t *c, *half, *copy;

	split(r, world, r->rank ? 7 : COLL_UNDEFINED, -(int32_t)r->rank, &c);
	expect(r, !c == !r->rank, "undefined, or not");
	if (!c)
		return;
	expect(r, c->size == RANKS - 1 && c->rank == RANKS - 1 - r->rank, "rank or size");
	split(r, c, r->rank % 3 != 0, (int32_t)r->rank, &half);
	if (half) {
		check_members(r, half, r->rank % 3 ? set_of(1, 3) | set_of(2, 3) : set_of(3, 3));
		r->result = coll_comm_dup(half, &copy);
		expect(r, !r->result && copy->rank == half->rank &&
		       !memcmp(copy->node_of, half->node_of, 4 * copy->size), "no copy");
		comm_free(half);
		if (copy)
			comm_free(copy);
	}
	comm_free(c);
}

/* Parts have as many links as their parent. */
static void body_striped(struct rank *r, coll_comm_t *world)
{
	coll_comm_t *c;

	world->stripes = (struct stripes){ 3, 12345 };
	split(r, world, 0, 0, &c);
	if (!c)
		return;
	expect(r, c->stripes.links == 3 && c->stripes.least == 12345, "other stripes");
	check_members(r, c, set_of(0, 1));
	comm_free(c);
}

/* All ranks in reverse order: rank 0, whose address nobody knows, is the last. */
static void body_reverse(struct rank *r, coll_comm_t *world)
{
	coll_comm_t *c;

	split(r, world, 0, INT32_MAX - (int32_t)r->rank, &c);
	if (!c)
		return;
	expect(r, c->rank == RANKS - 1 - r->rank, "rank");
	expect(r, c->node_of[0] == world->node_of[RANKS - 1], "nodes do not stand as they did");
	check_members(r, c, set_of(0, 1));
	comm_free(c);
}

static void body_fault(struct rank *r, coll_comm_t *world)
{
	coll_comm_t *c = NULL;
	int64_t begin = now_ms();

	if (fault == FAULT_ABSENT)
		return;
	r->result = coll_comm_split(world, fault == FAULT_COLOR ? -1 : (int32_t)r->rank % 2, 0,
				    fault == FAULT_NULL ? NULL : &c);
	r->took_ms = now_ms() - begin;
	expect(r, !c, "a communicator after an error");
	if (c)
		comm_free(c);
	fault = FAULT_NONE;
	if (r->result == -EHOSTDOWN || parent_fails)
		expect(r, group_of(world)->failed == r->result, "the parent has another error");
	else
		check_members(r, world, set_of(0, 1));	/* as before */
}

static unsigned int nr_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Every stream has one other end, where the other's first word waits. */
static bool streams_pair(void)
{
	unsigned int i, j;

	for (i = 0; i < nr_given; i++) {
		const struct given *a = &given[i];
		uint32_t word = ~0U;
		int same = 0;

		for (j = 0; j < nr_given; j++) {
			const struct given *b = &given[j];

			same += b->group == a->group && b->node == a->peer &&
				b->peer == a->node && b->stripe == a->stripe &&
				b->dialed != a->dialed;
		}
		if (same != 1 || sock_recv_all(a->fd, &word, 4, deadline_in(10000)) ||
		    word != a->peer)
			return false;
	}
	return true;
}

static void run(struct rank *r, const uint32_t *nodes, enum fault what, uint32_t who,
		uint32_t timeout_ms, void (*body)(struct rank *r, coll_comm_t *world))
{
	uint32_t i;

	memset(groups, 0, sizeof(groups));
	nr_groups = 0;
	nr_given = 0;
	mixed_up = false;
	for (i = 0; i < RANKS; i++) {
		r[i] = (struct rank){
			.rank = i, .nodes = nodes, .body = body, .timeout_ms = timeout_ms,
			.fault = i == who ? what : FAULT_NONE,
		};
		if (pthread_create(&r[i].thread, NULL, rank_main, &r[i]))
			abort();
	}
	for (i = 0; i < RANKS; i++)
		pthread_join(r[i].thread, NULL);
}

static void drop_streams(void)
{
	while (nr_given)
		close(given[--nr_given].fd);
}

/* @streams: ends of streams that all splits together need */
static void test_good(const uint32_t *nodes, unsigned int streams,
		      void (*body)(struct rank *r, coll_comm_t *world), const char *name)
{
	unsigned int before = nr_fds(), i;
	struct rank r[RANKS];
	bool good;

	run(r, nodes, FAULT_NONE, RANKS, 80000, body);
	good = !mixed_up && streams_pair() && nr_given == streams;
	if (!good)
		printf("# mixed up: %d, %u streams\n", mixed_up, nr_given);
	for (i = 0; i < RANKS; i++)
		good &= r[i].good && r[i].took_ms < BOUND_MS;
	drop_streams();
	ok(good && nr_fds() == before, name);
}

/* On all ranks the same error, and soon; the parent can be used, unless it has failed. */
static void test_fault(enum fault what, uint32_t who, int want, int64_t within_ms,
		       const char *name)
{
	static const uint32_t nodes[RANKS] = { 1, 1, 2, 2, 3, 3, 4, 4 };
	unsigned int before = nr_fds(), i;
	struct rank r[RANKS];
	bool good = true;

	parent_fails = what == FAULT_ABSENT;
	run(r, nodes, what, who, what == FAULT_SLOW ? 5000 : what == FAULT_ABSENT ? 1000 : 80000,
	    body_fault);
	for (i = 0; i < RANKS; i++) {
		if (what == FAULT_ABSENT && i == who)
			continue;
		if (r[i].good && r[i].result == want && r[i].took_ms <= within_ms)
			continue;
		printf("# rank %u: %d, %lld ms\n", i, r[i].result, (long long)r[i].took_ms);
		good = false;
	}
	drop_streams();
	ok(good && nr_fds() == before, name);
}

int main(void)
{
	static const uint32_t one[RANKS] = { 0 };
	static const uint32_t two[RANKS] = { 1, 1, 1, 1, 1, 2, 2, 2 };
	static const uint32_t each[RANKS] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint32_t dealt[RANKS] = { 3, 1, 2, 3, 1, 2, 3, 1 };

	printf("TAP version 13\n");
	test_good(one, 0, body_odd, "even and odd, one node");
	test_good(two, 2 * 4, body_odd, "even and odd, two nodes");
	test_good(dealt, 2 * 12, body_odd, "even and odd, dealt to three nodes");
	test_good(each, 2 * 24, body_odd, "even and odd, each rank a node");
	test_good(two, 4, body_reverse, "reversed, two nodes");
	test_good(dealt, 12, body_reverse, "reversed, three nodes");
	test_good(each, 112, body_reverse, "reversed, each rank a node");
	test_good(dealt, 3 * 12, body_striped, "three links, three nodes");
	test_good(one, 0, body_nested, "a part of a part, and a copy, one node");
	test_good(two, 4 + 2 * (4 + 4), body_nested, "a part of a part, and a copy, two nodes");
	test_good(each, 84 + 2 * (4 + 40), body_nested,
		  "a part of a part, and a copy, each rank a node");
	test_fault(FAULT_COLOR, 3, -EINVAL, BOUND_MS, "a negative color on one rank");
	test_fault(FAULT_NULL, 0, -EINVAL, BOUND_MS, "nowhere to put the result on one rank");
	test_fault(FAULT_JOIN, 5, -EMFILE, BOUND_MS, "the kernel refuses one rank");
	test_fault(FAULT_LINK, 2, -EBUSY, BOUND_MS, "the kernel refuses a stream");
	test_fault(FAULT_ADDRESS, 6, -EADDRNOTAVAIL, BOUND_MS, "a leader cannot listen");
	test_fault(FAULT_SECRET, 6, -EKEYREJECTED, BOUND_MS, "a leader with another secret");
	test_fault(FAULT_DEAD, 4, -EHOSTDOWN, BOUND_MS, "a rank dies while leaders connect");
	test_fault(FAULT_SLOW, 2, -ETIMEDOUT, 20000, "a leader sleeps: timeout, and no more");
	test_fault(FAULT_ABSENT, 7, -ETIMEDOUT, BOUND_MS, "a rank does not call: timeout");
	return ok_done();
}
