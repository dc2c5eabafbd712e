// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Nodes and their connections, over loopback, no kernel module: ranks are
 * threads, what would be handed to the kernel is checked and closed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <coll/coll.h>

#include "comm/links.h"
#include "net/ports.h"
#include "net/resolve.h"
#include "schedule.h"
#include "tap.h"

#define MAX_RANKS	32
/* On a busy machine connecting may take this long. Ranks that miss each other wait for 60 s. */
#define BOUND_MS	55000

/* A stream as it would have gone to the kernel. */
struct given {
	uint32_t node, peer, stripe;
	int fd;
};

/**
 * struct job - ranks of one test
 * @lock: protects @given and @nr_given
 * @node_name: which node a rank is on, by number
 * @fail_rank: its leader's first hand-over fails; -1: none
 * @mute_rank: leaves after round 2, without a word; -1: none
 * @first: number of the first link
 * @nr: links of a pair of nodes
 * @strangers: knock at every leader's listener while links are made
 */
struct job {
	pthread_mutex_t lock;
	struct given given[4096];
	size_t nr_given;
	uint32_t size;
	uint32_t node_name[MAX_RANKS];
	int fail_rank, mute_rank;
	uint32_t first, nr;
	bool strangers;
	int port;
	struct job_secret secret;
};

struct rank {
	struct job *job;
	uint32_t rank;
	pthread_t thread;
	int result;
	int64_t took_ms;
	uint32_t node, nr_nodes;
	struct topology topo;
};

static int hand_over(void *ctx, uint32_t peer, uint32_t stripe, int fd)
{
	struct rank *r = ctx;
	struct job *job = r->job;

	if ((int)r->rank == job->fail_rank) {
		close(fd);
		return -EBUSY;
	}
	pthread_mutex_lock(&job->lock);
	job->given[job->nr_given++] = (struct given){ r->topo.node, peer, stripe, fd };
	pthread_mutex_unlock(&job->lock);
	/* Send what the kernel would send first; the other end must find just this. */
	if (send(fd, &r->topo.node, 4, MSG_NOSIGNAL) != 4)
		return -EPIPE;
	return 0;
}

/* Connect to a leader and say nothing, or nonsense; the fds stay open. */
static void knock(const uint8_t *blob, int *fds, int n)
{
	struct sock_addr a;
	char spec[64];
	int i;

	if (!blob[0])
		return;
	snprintf(spec, sizeof(spec), "%u.%u.%u.%u:%u", blob[4], blob[5], blob[6], blob[7],
		 blob[2] | blob[3] << 8);
	for (i = 0; i < n && resolve_until(spec, deadline_in(1000), &a, 1) == 1; i++) {
		fds[i] = sock_connect_start(&a);
		if (fds[i] >= 0 && i % 2) {
			sock_wait(fds[i], POLLOUT, deadline_in(100));
			send(fds[i], "GET / HTTP/1.0\r\n\r\n", 18, MSG_DONTWAIT | MSG_NOSIGNAL);
		}
	}
}

/* As init.c does it, without the kernel. */
static int meet(struct rank *r, struct rendezvous *rdv, struct deadline d)
{
	struct job *job = r->job;
	uint8_t blobs[MAX_RANKS * RDV_BLOB], mine[RDV_BLOB] = { 0 };
	struct sock_addr here = { .len = 0 };
	struct links_config cfg = {
		.topo = &r->topo, .secret = &job->secret, .job = rdv_job(rdv), .here = &here,
		.rdv = rdv, .addrs = blobs, .deadline = d, .hand_over = hand_over, .ctx = r,
		.first = job->first, .nr = job->nr,
	};
	int fds[20], ret, i;

	memcpy(mine, &job->node_name[r->rank], 4);
	ret = rdv_round(rdv, 0, mine, blobs);
	if (!ret)
		ret = topology_init(&r->topo, r->rank, job->size, blobs, RDV_BLOB);
	if (ret)
		return ret;
	if (rdv_local_address(rdv, &here))
		here.len = 0;
	cfg.lfd = links_listen(&r->topo, &here, mine);
	ret = rdv_round(rdv, cfg.lfd < -1 ? cfg.lfd : 0, mine, blobs);
	if (ret || (int)r->rank == job->mute_rank) {
		if (cfg.lfd >= 0)
			close(cfg.lfd);
		return ret;
	}
	memset(fds, -1, sizeof(fds));
	if (job->strangers)
		knock(blobs + (r->rank + 1) % job->size * RDV_BLOB, fds, 20);
	if (r->topo.leader_of[r->topo.node] == r->rank)
		ret = links_connect(&cfg);
	ret = rdv_round(rdv, ret, mine, NULL);
	for (i = 0; i < 20; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return ret;
}

static void *rank_main(void *arg)
{
	struct rank *r = arg;
	char spec[32];
	struct rdv_config rc = {
		.rank = r->rank, .size = r->job->size, .spec = spec,
		.secret = &r->job->secret, .deadline = deadline_in(60000),
	};
	struct rendezvous *rdv;
	int64_t begin = now_ms();

	snprintf(spec, sizeof(spec), "127.0.0.1:%d", r->job->port);
	r->result = rdv_open(&rdv, &rc);
	if (!r->result) {
		r->result = meet(r, rdv, rc.deadline);
		r->took_ms = now_ms() - begin;
		rdv_close(rdv);
	}
	r->node = r->topo.node;
	r->nr_nodes = r->topo.nr_nodes;
	return NULL;
}

/* Does each stream have exactly one other end, whose first word waits there? */
static bool streams_pair(const struct job *job)
{
	size_t i, j;

	for (i = 0; i < job->nr_given; i++) {
		const struct given *g = &job->given[i];
		uint32_t word = ~0U;
		int same = 0;

		for (j = 0; j < job->nr_given; j++)
			same += job->given[j].node == g->peer && job->given[j].peer == g->node &&
				job->given[j].stripe == g->stripe;
		if (same != 1 || sock_recv_all(g->fd, &word, 4, deadline_in(1000)) ||
		    word != g->peer) {
			printf("# node %u peer %u stripe %u: %d partners, word %u\n", g->node,
			       g->peer, g->stripe, same, word);
			return false;
		}
	}
	return true;
}

static void run(struct job *job, struct rank *r)
{
	struct sock_addr a;
	uint32_t i;
	int fd;

	resolve_until("127.0.0.1:1", deadline_in(1000), &a, 1);
	sock_set_port(&a, 0);
	fd = sock_listen(&a);
	sock_local(fd, &a);
	job->port = sock_port(&a);
	close(fd);
	auth_secret(&job->secret, "secret");
	pthread_mutex_init(&job->lock, NULL);
	for (i = 0; i < job->size; i++) {
		r[i] = (struct rank){ .job = job, .rank = i };
		if (pthread_create(&r[i].thread, NULL, rank_main, &r[i]))
			abort();
	}
	for (i = 0; i < job->size; i++)
		pthread_join(r[i].thread, NULL);
}

static void clean(struct job *job, struct rank *r)
{
	uint32_t i;

	for (i = 0; i < job->nr_given; i++)
		close(job->given[i].fd);
	for (i = 0; i < job->size; i++)
		topology_destroy(&r[i].topo);
	free(job);
}

static struct job *new_job(uint32_t size)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	job->size = size;
	job->fail_rank = -1;
	job->mute_rank = -1;
	return job;
}

static uint32_t blocks(uint32_t rank, uint32_t nodes)
{
	return rank * nodes / 8;	/* of 8 ranks */
}

/* Ranks dealt to nodes by @name_of; all must connect. */
static void test_job(struct job *job, uint32_t nodes, uint32_t (*name_of)(uint32_t, uint32_t),
		     size_t streams, const char *name)
{
	struct rank r[MAX_RANKS];
	uint32_t size = job->size, i;
	bool good = true;

	for (i = 0; i < size; i++)
		job->node_name[i] = name_of(i, nodes);
	run(job, r);
	for (i = 0; i < size; i++) {
		if (!r[i].result && r[i].nr_nodes == nodes && r[i].took_ms < BOUND_MS &&
		    r[i].node <= i && r[i].topo.node_of[i] == r[i].node)
			continue;
		printf("# rank %u: %d, node %u of %u, %lld ms\n", i, r[i].result, r[i].node,
		       r[i].nr_nodes, (long long)r[i].took_ms);
		good = false;
	}
	for (i = 0; i < job->nr_given; i++)
		good &= job->given[i].stripe / 2 - job->first < (job->nr ? job->nr : 1);
	if (job->nr_given != streams)
		printf("# %zu streams\n", job->nr_given);
	ok(good && job->nr_given == streams && streams_pair(job), name);
	clean(job, r);
}

static void test_all(uint32_t size, uint32_t nodes, uint32_t (*name_of)(uint32_t, uint32_t),
		     bool strangers, size_t streams, const char *name)
{
	struct job *job = new_job(size);

	job->strangers = strangers;
	test_job(job, nodes, name_of, streams, name);
}

/* Links @first and up, @nr of them, of 8 ranks on 4 nodes. */
static void test_several(uint32_t first, uint32_t nr, const char *name)
{
	struct job *job = new_job(8);

	job->first = first;
	job->nr = nr;
	test_job(job, 4, blocks, 24 * nr, name);
}

static void test_failure(bool mute, const char *name)
{
	struct job *job = new_job(6);
	struct rank r[MAX_RANKS];
	bool good = true;
	uint32_t i;

	for (i = 0; i < 6; i++)
		job->node_name[i] = i / 2;
	*(mute ? &job->mute_rank : &job->fail_rank) = 2;	/* leader of node 1 */
	run(job, r);
	for (i = 0; i < 6; i++) {
		int want = mute ? i == 2 ? 0 : -EHOSTDOWN : -EBUSY;

		if (r[i].result == want && r[i].took_ms < BOUND_MS)
			continue;
		printf("# rank %u: %d, %lld ms\n", i, r[i].result, (long long)r[i].took_ms);
		good = false;
	}
	ok(good, name);
	clean(job, r);
}

static uint32_t cyclic(uint32_t rank, uint32_t nodes)
{
	return (rank * 5 + 3) % nodes;
}

static uint32_t each(uint32_t rank, uint32_t nodes)
{
	return nodes - rank;
}

/*
 * The pairs that ring, dissemination and binomial trees of every root need:
 * distances 1, 2, 4, ... around the circle, in either direction.
 */
static void test_pairs(void)
{
	uint8_t ids[MAX_RANKS * AUTH_LEN] = { 0 };
	bool good = true;
	uint32_t n, me, i;

	for (i = 0; i < MAX_RANKS; i++)
		ids[i * AUTH_LEN] = (uint8_t)(i + 1);
	for (n = 1; n <= MAX_RANKS; n++) {
		bool linked[MAX_RANKS][MAX_RANKS] = { 0 };

		for (me = 0; me < n; me++) {
			struct topology t;

			if (topology_init(&t, me, n, ids, AUTH_LEN))
				abort();
			memcpy(linked[me], t.linked, n * sizeof(bool));
			topology_destroy(&t);
		}
		for (me = 0; me < n; me++)
			for (i = 0; i < n; i++) {
				uint32_t up = (i + n - me) % n, down = (me + n - i) % n;

				good &= linked[me][i] == linked[i][me];
				if (up && (!(up & (up - 1)) || !(down & (down - 1))))
					good &= linked[me][i];
			}
	}
	ok(good, "links for 1 to 32 nodes: symmetric, all powers of two");
}

/* The tree of named tensors: nodes are not linked all with all, and rank 0 is not on node 0. */
static void test_tree(void)
{
	enum { NODES = TOPOLOGY_FULL + 2, ROOT = 5 };
	static uint8_t ids[NODES * AUTH_LEN];
	static bool linked[NODES][NODES];
	uint32_t number[NODES], me, i;
	bool good = true;

	for (i = 0; i < NODES; i++) {
		ids[i * AUTH_LEN] = (uint8_t)(i + 1);
		number[i] = (i + ROOT) % NODES;
	}
	for (me = 0; me < NODES; me++) {
		struct topology t;

		if (topology_init(&t, me, NODES, ids, AUTH_LEN) || topology_renumber(&t, number))
			abort();
		topology_link_tree(&t);
		memcpy(linked[t.node], t.linked, sizeof(linked[0]));
		good &= !t.linked[t.node];
		topology_destroy(&t);
	}
	for (i = 1; i < NODES; i++)
		good &= linked[(i + ROOT) % NODES][((i - 1) / 16 + ROOT) % NODES];
	for (me = 0; me < NODES; me++)
		for (i = 0; i < NODES; i++)
			good &= linked[me][i] == linked[i][me];
	ok(good, "links of the tree for named tensors, with many nodes");
}

/* A socket that listens at the port, or at any (0). */
static int hold_port(uint16_t port)
{
	int fd = sock_listen_all(port);

	if (fd < 0)
		abort();
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sock_addr a;

	return fd >= 0 && !sock_local(fd, &a) ? sock_port(&a) : 0;
}

/* A leader listens at the first free port of COLL_PORTS. */
static void test_ports(void)
{
	static const char *const wrong[] = { "0", "70000", "9-8", "-9", "7x", "1-", "1-2-3", " 5" };
	char text[32];
	uint16_t first;
	int held, fd;
	size_t i;
	bool good;

	held = hold_port(0);
	first = port_of(held);
	/* Another program may have the next one. */
	snprintf(text, sizeof(text), "%u-%u", first, first > 65000 ? 65535 : first + 500);
	setenv("COLL_PORTS", text, 1);
	fd = ports_listen();
	ok(port_of(fd) > first && port_of(fd) <= first + 500, "COLL_PORTS=%s: port %u", text,
	   port_of(fd));
	close(fd);
	snprintf(text, sizeof(text), "%u", first);
	setenv("COLL_PORTS", text, 1);
	fd = ports_listen();
	ok(fd == -EADDRINUSE && strstr(coll_last_error(), text), "no free port: %s",
	   coll_last_error());
	close(held);
	fd = ports_listen();
	ok(port_of(fd) == first, "one port");
	close(fd);
	for (i = 0, good = true; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setenv("COLL_PORTS", wrong[i], 1);
		good &= ports_listen() == -EINVAL && strstr(coll_last_error(), wrong[i]);
	}
	unsetenv("COLL_PORTS");
	ok(good, "values that are no ports: %s", coll_last_error());
}

int main(void)
{
	printf("TAP version 13\n");
	test_ports();
	test_pairs();
	test_tree();
	test_all(8, 1, blocks, false, 0, "8 ranks on one node");
	test_all(8, 2, blocks, false, 4, "8 ranks on 2 nodes");
	test_all(8, 4, blocks, false, 24, "8 ranks on 4 nodes");
	test_all(13, 3, cyclic, false, 12, "13 ranks dealt to 3 nodes");
	test_all(7, 7, each, false, 84, "7 ranks on 7 nodes");
	test_all(8, 8, each, true, 112, "8 ranks on 8 nodes, strangers at every door");
	test_several(0, 3, "three links");
	test_several(2, 6, "links 2 to 7");
	test_failure(false, "a hand-over fails: all learn the error");
	test_failure(true, "a leader dies while links are made");
	return ok_done();
}
