// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The steps of coll_init:
 *
 *	rank 0 listens, the others connect and prove the key
 *	round 1: which rank is on which node; leaders start to listen
 *	round 2: where leaders listen; every rank joins in the kernel
 *	round 3: all ranks have joined: is each node one kernel? leaders connect and hand the
 *	streams over
 *	round 4: all links are connected: no rank submits before
 *	then nodes may get another order (order.c), and the ranks measure which algorithms are
 *	best (init_select.c), up to which size shared memory is better (shm_limit.c), and
 *	whether more links are better (stripes.c)
 *
 * A failure on one rank is its status in the next round, and so ends coll_init on all ranks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/debug.h"
#include "base/fpstate.h"
#include "comm/comm.h"
#include "comm/links.h"
#include "comm/shm.h"
#include "comm/topology.h"
#include "config.h"
#include "init_select.h"
#include "rendezvous/invite.h"
#include "rendezvous/rendezvous.h"
#include "shm_limit.h"

/**
 * struct init - coll_init() under way
 * @blobs: blobs of all ranks in the last round
 * @mine: blob of this rank for the next round
 * @select: how algorithms are to be chosen
 * @stripes: COLL_STRIPES of rank 0, if all ranks support it; STRIPES_AUTO: to be measured
 * @lfd: where lower nodes connect, -1 if they do not
 * @invitation: where rank 0 listens, as coll_config.exchange told
 */
struct init {
	coll_comm_t *comm;
	struct coll_config cfg;
	struct job_secret secret;
	struct deadline deadline;
	struct rendezvous *rdv;
	struct topology topo;
	uint8_t *blobs;
	uint8_t mine[RDV_BLOB];
	struct select_plan select;
	struct stripes stripes;
	int lfd;
	struct invitation invitation;
};

/* Leaders give up this long before the deadline, to report why links are missing. */
#define TELLING_MS	2000

/*
 * All ranks have joined. Ranks count as ranks of one node if they have the same boot id, which
 * virtual machines and containers may have in common. Only the kernel knows which ranks have
 * joined it: without this check the first collective could wait forever.
 */
static int check_node(coll_comm_t *comm)
{
	struct coll_status st;

	if (ioctl(comm->fd, COLL_IOC_STATUS, &st))
		return -errno;
	/* A rank that has joined and is dead by now is missing, too, but that is another error. */
	if (st.nr_joined == st.nr_local || st.cause.error)
		return 0;
	coll_explain("node %u has %u ranks, only %u of them in the kernel of rank %u",
		     comm->node, st.nr_local, st.nr_joined, comm->rank);
	return -EXDEV;
}

/* A communicator of one rank, which has no other rank to meet. */
static int init_alone(struct init *in)
{
	uint8_t job[AUTH_LEN];
	int ret;

	in->comm->nr_nodes = 1;
	ret = auth_random(in->secret.key, sizeof(in->secret.key));
	if (!ret)
		ret = auth_random(job, sizeof(job));
	if (!ret)
		ret = comm_open(in->comm, in->cfg.device);
	if (!ret)
		ret = comm_join(in->comm, &in->secret, job);
	return ret;
}

/* Leave some time to tell rank 0 why links are missing, before its own deadline. */
static struct deadline links_deadline(const struct init *in)
{
	int left = deadline_left(in->deadline);
	int keep = left / 8 < TELLING_MS ? left / 8 : TELLING_MS;

	return (struct deadline){ .at_ms = in->deadline.at_ms - keep };
}

static int connect_links(struct init *in, uint32_t from, uint32_t to)
{
	const struct topology *t = &in->topo;
	struct links_config cfg = {
		.topo = t,
		.secret = &in->secret,
		.job = rdv_job(in->rdv),
		.here = &in->comm->here,
		.rdv = in->rdv,
		.lfd = in->lfd,
		.addrs = in->blobs,
		.first = from,
		.nr = to - from,
		.deadline = links_deadline(in),
		.hand_over = comm_link,
		.ctx = in->comm,
	};

	in->lfd = -1;		/* links_connect() takes it over */
	if (t->leader_of[t->node] != t->rank)
		return 0;
	return links_connect(&cfg);
}

/* Offsets in the blob of round 1, behind the identity: support, rank 0's settings, machine. */
enum { BLOB_CAN = AUTH_LEN, BLOB_LINKS, BLOB_LEAST, BLOB_MACHINE = BLOB_LEAST + 8 };

#define MACHINE_LEN	(RDV_BLOB - BLOB_MACHINE)

static int offer_stripes(struct init *in)
{
	uint8_t machine[AUTH_LEN] = { 0 };
	struct stripes s = { 0 };
	int ret;

	ret = in->comm->rank ? 0 : stripes_env(&s);
	if (ret)
		return ret;
	in->mine[BLOB_CAN] = !!(in->comm->version.features & COLL_FEAT_STRIPE);
	in->mine[BLOB_LINKS] = (uint8_t)s.links;
	put_le64(in->mine + BLOB_LEAST, s.least);
	ret = topology_identity("", machine);
	memcpy(in->mine + BLOB_MACHINE, machine, MACHINE_LEN);
	return ret;
}

static void accept_stripes(struct init *in)
{
	const uint8_t *first = in->blobs;
	bool can = true, one = true;
	uint32_t i;

	for (i = 0; i < in->cfg.size; i++) {
		const uint8_t *blob = first + (size_t)i * RDV_BLOB;

		can &= blob[BLOB_CAN];
		one &= !memcmp(blob + BLOB_MACHINE, first + BLOB_MACHINE, MACHINE_LEN);
	}
	in->stripes = (struct stripes){ first[BLOB_LINKS], get_le64(first + BLOB_LEAST) };
	if (!can)
		coll_debug("one link: a module or library does not know of several");
	if (!can || (in->stripes.links == STRIPES_UNSET && one))
		in->stripes.links = 1;
	else if (in->stripes.links > COLL_MAX_LINKS)
		in->stripes.links = STRIPES_AUTO;
}

/* Number of links to each node that are made at first. */
static uint32_t nr_links(const struct init *in)
{
	return in->stripes.links == STRIPES_AUTO ? 1 : in->stripes.links;
}

/* Round 1 has told identities: number the nodes, and listen if other nodes have to connect. */
static int learn_nodes(struct init *in)
{
	coll_comm_t *comm = in->comm;
	int ret;

	ret = topology_init(&in->topo, comm->rank, comm->size, in->blobs, RDV_BLOB);
	if (ret)
		return ret;
	ret = comm_set_nodes(comm, &in->topo);
	if (ret)
		return ret;
	/* Rank 0 needs only the scope of its address: no node connects to the lowest node. */
	ret = rdv_local_address(in->rdv, &comm->here);
	if (ret)
		return ret;
	in->lfd = links_listen(&in->topo, &comm->here, in->mine);
	return in->lfd < -1 ? in->lfd : 0;
}

/* Renumber @in->topo: nodes may have got other numbers since the first links were made. */
static int renumber(struct init *in)
{
	struct topology *t = &in->topo;
	uint32_t *number = calloc(t->nr_nodes, sizeof(*number)), i;
	int ret;

	if (!number)
		return -ENOMEM;
	for (i = 0; i < t->nr_nodes; i++)
		number[i] = in->comm->node_of[t->leader_of[i]];
	ret = topology_renumber(t, number);
	free(number);
	return ret;
}

/* Time limit for further links, after the first ones have been made. */
#define MORE_LINKS_MS	10000

/* Make further links, in two more rounds of the rendezvous. */
static int more_links(void *ctx, uint32_t from, uint32_t to)
{
	const struct deadline all = ((struct init *)ctx)->deadline;
	struct init *in = ctx;
	int ret;

	ret = renumber(in);
	if (!ret) {
		in->lfd = links_listen(&in->topo, &in->comm->here, in->mine);
		ret = in->lfd < -1 ? in->lfd : 0;
	}
	ret = rdv_round(in->rdv, ret, in->mine, in->blobs);
	if (ret)
		return ret;
	in->deadline = deadline_min(all, deadline_in(MORE_LINKS_MS));
	ret = connect_links(in, from, to);
	in->deadline = all;
	return rdv_round(in->rdv, ret, in->mine, NULL);
}

/* Set the requested number of links, on all ranks before any rank submits. */
static int set_stripes(struct init *in)
{
	struct stripes s = in->stripes;

	s.links = nr_links(in);
	return stripes_set(in->comm, &s);
}

static int measure_stripes(struct init *in)
{
	const struct stripes_more more = { more_links, in };

	if (in->stripes.links != STRIPES_AUTO || !stripes_may_profit(in->comm))
		return 0;
	return stripes_measure(in->comm, in->deadline, &more);
}

/* Meet the other ranks: by coll_config.exchange, or at the rendezvous and by the key configured. */
static int meet(struct init *in)
{
	struct rdv_config rc = {
		.rank = in->cfg.rank,
		.size = in->cfg.size,
		.spec = in->cfg.rendezvous,
		.secret = &in->secret,
		.deadline = in->deadline,
	};
	int ret;

	if (!in->cfg.exchange) {
		ret = auth_secret(&in->secret, in->cfg.key);
	} else {
		ret = invite(&in->cfg, in->deadline, &in->invitation, &in->secret);
		rc.spec = NULL;
		rc.lfd = in->invitation.lfd;
		rc.addrs = in->invitation.addrs;
		rc.nr_addrs = in->invitation.nr;
	}
	if (!ret)
		ret = rdv_open(&in->rdv, &rc);
	/* The rendezvous has a copy, unless it has failed. */
	if (in->invitation.lfd >= 0 && ret)
		sock_close(in->invitation.lfd);
	else if (in->invitation.lfd >= 0)
		close(in->invitation.lfd);
	in->invitation.lfd = -1;
	return ret;
}

static int settle_shm(struct init *in)
{
	struct shm_terms t;
	uint32_t i;

	for (i = 0; i < in->cfg.size; i++)
		shm_hear(&t, i, in->blobs + (size_t)i * RDV_BLOB + SELECT_BLOB_SHM);
	return shm_settle(in->comm, &t, in->deadline);
}

static int init_together(struct init *in)
{
	int ret;

	in->blobs = calloc(in->cfg.size, RDV_BLOB);
	if (!in->blobs)
		return -ENOMEM;
	ret = meet(in);
	if (ret)
		return ret;
	ret = comm_open(in->comm, in->cfg.device);
	if (!ret)
		ret = topology_identity(in->cfg.node, in->mine);
	if (!ret)
		ret = offer_stripes(in);
	ret = rdv_round(in->rdv, ret, in->mine, in->blobs);
	if (ret)
		return ret;
	accept_stripes(in);
	ret = learn_nodes(in);
	ret = rdv_round(in->rdv, ret, in->mine, in->blobs);
	if (ret)
		return ret;
	ret = comm_join(in->comm, &in->secret, rdv_job(in->rdv));
	if (!ret)
		ret = shm_offer(in->comm, NULL, in->mine + SELECT_BLOB_SHM);
	ret = rdv_round(in->rdv, ret, in->mine, NULL);
	if (ret)
		return ret;
	ret = check_node(in->comm);
	if (!ret)
		ret = connect_links(in, 0, nr_links(in));
	if (!ret)
		ret = set_stripes(in);
	if (!ret)
		ret = select_offer(in->comm, in->cfg.node, &in->select, in->mine);
	ret = rdv_round(in->rdv, ret, in->mine, in->blobs);
	if (ret)
		return ret;
	shm_map(in->comm);
	ret = select_accept(&in->comm, &in->select, in->blobs, RDV_BLOB, in->deadline);
	if (!ret)
		ret = settle_shm(in);
	return ret ? ret : measure_stripes(in);
}

int coll_init(const struct coll_config *cfg, coll_comm_t **out)
{
	struct init in = { .lfd = -1, .invitation.lfd = -1 };
	struct deadline begin = deadline_in(0);
	struct fp_state fp;
	coll_comm_t *comm;
	int ret;

	coll_explain("%s", "");
	if (!out) {
		coll_explain("coll_init(): the pointer for the result is NULL");
		return -EINVAL;
	}
	*out = NULL;
	ret = config_resolve(cfg, &in.cfg);
	if (ret)
		return ret;
	coll_debug_rank(in.cfg.rank);
	ret = comm_new(&comm, in.cfg.rank, in.cfg.size);
	if (ret)
		return ret;
	in.comm = comm;
	/* Asking the launcher has taken a part of the time. */
	in.deadline = (struct deadline){ .at_ms = begin.at_ms + in.cfg.timeout_ms };
	comm->flags = in.cfg.flags;
	comm->timeout_ms = in.cfg.timeout_ms;
	fp_enter(&fp, false);
	if (comm->size == 1)
		ret = init_alone(&in);
	else
		ret = init_together(&in);
	fp_leave(&fp);

	if (in.lfd >= 0)
		sock_close(in.lfd);
	if (ret)
		coll_debug("coll_init: %s", coll_strerror(ret));
	/* After a failure this tells the other ranks first, which may take a moment. */
	rdv_close(in.rdv);
	topology_destroy(&in.topo);
	auth_wipe(&in.secret, sizeof(in.secret));
	free(in.blobs);
	if (ret) {
		coll_finalize(in.comm);
		return ret;
	}
	*out = in.comm;
	return 0;
}
