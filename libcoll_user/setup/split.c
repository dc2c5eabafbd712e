// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * coll_comm_split: communicators of parts of one.
 *
 *	round 1: all ranks have called, with valid arguments
 *	round 2: cards: color, key, a nonce; each rank finds its part and joins it in the kernel,
 *		 leaders let it use the links of the parent, and listen if they have to
 *	round 3: has that worked, and where do leaders listen?
 *	rounds 4...: connect for a moment, then: is every rank done, has any rank failed?
 *	last round: does every rank have its tables of algorithms? See select_inherit.c.
 *
 * A round is an allreduce on the parent. A failure on one rank is its status in the next round,
 * and so ends the call on all ranks. Leaders that are still connecting learn of it after a
 * moment; a dead rank fails the round itself. An allreduce also takes the place of an allgather
 * (each rank writes its own part, which is zero on the others): beyond 128 nodes there are no
 * links for allgathers, see topology.c.
 *
 * The new communicator does not need the parent after this call.
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
#include "select/select_inherit.h"
#include "shm_limit.h"
#include "split.h"

/* Time to connect before the next round; doubled each time, up to MAX. */
#define MOMENT_MIN_MS	20
#define MOMENT_MAX_MS	200
/*
 * Rounds wait this much longer than the work between them may take: if time runs out, a round
 * reports that, and the parent does not fail.
 */
#define GRACE_MS	5000

/* Facts of one rank of the parent. Cards have whole words, because rounds combine them by OR. */
struct card {
	int32_t color;
	int32_t key;
	uint8_t nonce[AUTH_LEN];
	uint32_t share;		/* this rank can share links */
	uint32_t reserved;
};

_Static_assert(sizeof(struct card) % 8 == 0 && RDV_BLOB % 8 == 0, "not in whole words");

/**
 * struct split - coll_comm_split() under way
 * @child: the new communicator, NULL for COLL_UNDEFINED
 * @deadline: of the work between rounds
 * @cards: by rank of the parent
 * @members: the rank in the parent of each rank of the child
 * @size: number of ranks of the child
 * @named: the child's collectives will have names
 * @place: position of each node of the parent in the child; NULL: as in the parent
 * @blobs: where leaders listen, by rank of the parent; RDV_BLOB bytes each
 * @addrs: the same by rank of the child
 * @secret: of the child's ranks; each rank computes it, and it is never sent
 * @job: nonce of the child: that of its rank 0
 * @lfd: where other leaders connect, -1 if they do not
 * @links: connections that this leader is making; NULL: none
 */
struct split {
	coll_comm_t *parent, *child;
	struct deadline deadline;
	struct card *cards;
	uint32_t *members;
	uint32_t size;
	bool named;
	const uint32_t *place;
	uint8_t *blobs, *addrs;
	struct topology topo;
	struct job_secret secret;
	uint8_t job[AUTH_LEN];
	int lfd;
	struct links_config links_cfg;
	struct links *links;
};

/* ---- rounds ---- */

static int round_of(struct split *sp, uint64_t timeout_ns, void *buf, uint64_t count,
		    enum coll_dtype dtype, enum coll_op_code op)
{
	struct coll_cmd cmd;

	coll_cmd_allreduce(sp->parent, &cmd, COLL_IN_PLACE, buf, count, dtype, op);
	cmd.timeout_ns = timeout_ns;
	return coll_submit(sp->parent, &cmd);
}

static uint64_t patience_ns(const struct split *sp)
{
	return ((uint64_t)deadline_left(sp->deadline) + GRACE_MS) * 1000000;
}

/*
 * Combine @status of all ranks. Return: the largest errno of any rank, negative; else 1 if any rank
 * has 1; else 0. It is equal on all ranks.
 */
static int agree(struct split *sp, uint64_t timeout_ns, int status)
{
	/* the errno, and whether there is more to be done */
	int32_t vote[2] = { status < 0 ? -status : 0, status > 0 };
	int ret;

	ret = round_of(sp, timeout_ns, vote, 2, COLL_I32, COLL_OP_MAX);
	if (ret)
		return ret;
	return vote[0] ? -vote[0] : vote[1];
}

/* Gather @all from the parts, of @each bytes, that the ranks have written. */
static int gather(struct split *sp, void *all, size_t each)
{
	return round_of(sp, patience_ns(sp), all, sp->parent->size * each / 8, COLL_U64,
			COLL_OP_BOR);
}

/* Ranks that call first wait for the others, but no longer than in any collective. */
static int wait_for_all(struct split *sp, int status)
{
	uint64_t ns = (uint64_t)sp->parent->timeout_ms * 1000000;
	uint64_t set = sp->parent->timeout_ns;
	int ret;

	ret = agree(sp, set && set < ns ? set : ns, status);
	sp->deadline = deadline_in(sp->parent->timeout_ms);
	return ret;
}

/* ---- members of the new communicator ---- */

/* COLL_NO_SHARE is for comparisons. */
static bool may_share(const coll_comm_t *parent)
{
	const char *no = getenv("COLL_NO_SHARE");

	return parent->version.features & COLL_FEAT_SHARE &&
	       !(no && *no && strcmp(no, "0"));
}

static int prepare(struct split *sp, int32_t color, int32_t key)
{
	uint32_t size = sp->parent->size;
	struct card *mine;

	if (color < 0 && color != COLL_UNDEFINED)
		return -EINVAL;
	sp->cards = calloc(size, sizeof(*sp->cards));
	sp->members = calloc(size, sizeof(*sp->members));
	sp->blobs = calloc(size, RDV_BLOB);
	sp->addrs = calloc(size, RDV_BLOB);
	if (!sp->cards || !sp->members || !sp->blobs || !sp->addrs)
		return -ENOMEM;
	mine = &sp->cards[sp->parent->rank];
	mine->color = color;
	mine->key = key;
	mine->share = may_share(sp->parent);
	return auth_random(mine->nonce, sizeof(mine->nonce));
}

struct entry {
	int32_t key;
	uint32_t rank;
};

static int cmp_entry(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Fills in @members; returns our rank among them or -ENOMEM. */
static int find_members(struct split *sp)
{
	const coll_comm_t *parent = sp->parent;
	struct entry *order = calloc(parent->size, sizeof(*order));
	int rank = 0;
	uint32_t i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < parent->size; i++)
		if (sp->cards[i].color == sp->cards[parent->rank].color)
			order[sp->size++] = (struct entry){ sp->cards[i].key, i };
	qsort(order, sp->size, sizeof(*order), cmp_entry);
	for (i = 0; i < sp->size; i++) {
		sp->members[i] = order[i].rank;
		if (order[i].rank == parent->rank)
			rank = (int)i;
	}
	free(order);
	return rank;
}

/* Put the nodes into the order of the parent, or into that of @sp->place. */
static int order_nodes(struct split *sp)
{
	const coll_comm_t *parent = sp->parent;
	struct topology *t = &sp->topo;
	uint32_t *number = calloc(t->nr_nodes, sizeof(*number));
	struct entry *order = calloc(t->nr_nodes, sizeof(*order));
	uint32_t i, node;
	int ret = number && order ? 0 : -ENOMEM;

	for (i = 0; !ret && i < t->nr_nodes; i++) {
		node = parent->node_of[sp->members[t->leader_of[i]]];
		order[i] = (struct entry){ (int32_t)(sp->place ? sp->place[node] : node), i };
	}
	if (!ret) {
		qsort(order, t->nr_nodes, sizeof(*order), cmp_entry);
		for (i = 0; i < t->nr_nodes; i++)
			number[order[i].rank] = i;
		ret = topology_renumber(t, number);
	}
	free(order);
	free(number);
	return ret;
}

/* Ranks share a node if they do in the parent. */
static int find_nodes(struct split *sp)
{
	const coll_comm_t *parent = sp->parent;
	uint8_t *ids = calloc(sp->size, AUTH_LEN);
	uint32_t i;
	int ret;

	if (!ids)
		return -ENOMEM;
	for (i = 0; i < sp->size; i++)
		put_le32(ids + (size_t)i * AUTH_LEN, parent->node_of[sp->members[i]]);
	ret = topology_init(&sp->topo, sp->child->rank, sp->size, ids, AUTH_LEN);
	free(ids);
	for (i = 0; !ret && i < sp->size; i++)
		sp->topo.origin[sp->topo.node_of[i]] =
			parent->origin[parent->node_of[sp->members[i]]];
	if (!ret)
		ret = order_nodes(sp);
	if (!ret && sp->named)
		topology_link_tree(&sp->topo);
	return ret;
}

/*
 * Make the secret of the child from the secret of the parent, which was never sent, and from a
 * nonce and the color, which were sent. A reader of the traffic does not know it. Other ranks of
 * the parent could make it, too; they are trusted not to.
 */
static int make_secret(struct split *sp)
{
	const struct card *first = &sp->cards[sp->members[0]];
	uint8_t color[4];
	const struct auth_part parts[] = {
		{ first->nonce, AUTH_LEN },
		{ color, sizeof(color) },
	};

	memcpy(sp->job, first->nonce, AUTH_LEN);
	put_le32(color, (uint32_t)first->color);
	return auth_mac(sp->parent->family.key, "coll split", parts, 2, sp->secret.key);
}

static int make_child(struct split *sp)
{
	const coll_comm_t *parent = sp->parent;
	int rank, ret;

	rank = find_members(sp);
	if (rank < 0)
		return rank;
	ret = comm_new(&sp->child, (uint32_t)rank, sp->size);
	if (ret)
		return ret;
	sp->child->flags = parent->flags;
	sp->child->timeout_ms = parent->timeout_ms;
	sp->child->timeout_ns = parent->timeout_ns;
	sp->child->here = parent->here;
	sp->child->named = sp->named;
	ret = find_nodes(sp);
	if (!ret)
		ret = comm_set_nodes(sp->child, &sp->topo);
	if (!ret)
		ret = make_secret(sp);
	return ret;
}

/* Number of links to each node: as many as the parent uses. */
static uint32_t nr_links(const struct split *sp)
{
	return sp->parent->stripes.links ? sp->parent->stripes.links : 1;
}

/* Both ends of a link have to do the same: links are shared only if all ranks can share them. */
static bool all_share(const struct split *sp)
{
	uint32_t i;

	for (i = 0; i < sp->size; i++)
		if (!sp->cards[sp->members[i]].share)
			return false;
	return true;
}

/* Share all links to one node. Return: 0; 1: the parent has none; or -errno. */
static int share_node(const struct split *sp, uint32_t peer, uint32_t parent_peer)
{
	uint32_t k;

	for (k = 0; k < nr_links(sp); k++) {
		struct coll_link_add l = {
			.peer = peer,
			.fd = sp->parent->fd,
			.stripe = k * LINKS_STRIPES,
			.flags = COLL_LINK_SHARE,
			.parent_peer = parent_peer,
		};

		if (ioctl(sp->child->fd, COLL_IOC_LINK, &l))
			return errno == ENOTCONN && !k ? 1 : -errno;
	}
	return 0;
}

/*
 * Use the links of the parent: nodes that are linked there need no new connection. If two
 * nodes are not linked there (ENOTCONN), both of them see that.
 */
static int share_links(struct split *sp)
{
	const coll_comm_t *parent = sp->parent;
	struct topology *t = &sp->topo;
	uint32_t i;
	int ret;

	if (t->leader_of[t->node] != t->rank || !all_share(sp))
		return 0;
	for (i = 0; i < t->nr_nodes; i++) {
		if (!t->linked[i])
			continue;
		ret = share_node(sp, i, parent->node_of[sp->members[t->leader_of[i]]]);
		if (ret < 0)
			return ret;
		t->linked[i] = ret;
	}
	return 0;
}

/* Do all that is possible before the other ranks are known to have joined. */
static int join_child(struct split *sp)
{
	uint8_t *blob = sp->blobs + (size_t)sp->parent->rank * RDV_BLOB;
	int ret;

	if (sp->cards[sp->parent->rank].color == COLL_UNDEFINED)
		return 0;
	ret = make_child(sp);
	if (!ret)
		ret = comm_open(sp->child, sp->parent->device);
	if (!ret)
		ret = comm_join(sp->child, &sp->secret, sp->job);
	if (!ret)
		ret = stripes_set(sp->child, &sp->parent->stripes);
	if (!ret)
		ret = share_links(sp);
	if (ret)
		return ret;
	sp->lfd = links_listen(&sp->topo, &sp->child->here, blob);
	if (sp->lfd < -1)
		return sp->lfd;
	/* A part on one node has no links, so there is room in its blobs. */
	if (sp->topo.nr_nodes == 1)
		return shm_offer(sp->child, sp->parent, blob);
	shm_open_own(sp->child);
	return 0;
}

/* ---- connections ---- */

static int start_links(struct split *sp)
{
	const struct topology *t = &sp->topo;
	uint32_t i;

	if (!sp->child || t->leader_of[t->node] != t->rank)
		return 0;
	for (i = 0; i < sp->size; i++)
		memcpy(sp->addrs + (size_t)i * RDV_BLOB,
		       sp->blobs + (size_t)sp->members[i] * RDV_BLOB, RDV_BLOB);
	sp->links_cfg = (struct links_config){
		.topo = t,
		.secret = &sp->secret,
		.job = sp->job,
		.here = &sp->child->here,
		.lfd = sp->lfd,
		.addrs = sp->addrs,
		.nr = nr_links(sp),
		.deadline = sp->deadline,
		.hand_over = comm_link,
		.ctx = sp->child,
	};
	sp->lfd = -1;		/* links_open() takes it over */
	return links_open(&sp->links, &sp->links_cfg);
}

static int connect_links(struct split *sp)
{
	uint32_t moment = MOMENT_MIN_MS;
	int ret;

	ret = start_links(sp);
	for (;;) {
		if (!ret && sp->links)
			ret = links_work(sp->links, deadline_in(moment));
		ret = agree(sp, patience_ns(sp), ret);
		if (ret <= 0)
			return ret;
		ret = 0;
		moment = moment * 2 < MOMENT_MAX_MS ? moment * 2 : MOMENT_MAX_MS;
	}
}

static int settle_shm(struct split *sp)
{
	struct shm_terms t;
	uint32_t i;

	/* With several nodes the ranks need not agree: a rank may post any op by itself. */
	if (sp->topo.nr_nodes > 1) {
		if (sp->child->shm && sp->parent->shm)
			memcpy(sp->child->shm->limit, sp->parent->shm->limit,
			       sizeof(sp->child->shm->limit));
		else if (sp->child->shm)
			shm_set_limits(sp->child->shm, 0);
		return 0;
	}
	for (i = 0; i < sp->size; i++)
		shm_hear(&t, i, sp->blobs + (size_t)sp->members[i] * RDV_BLOB);
	return shm_settle(sp->child, &t, sp->deadline);
}

/* The part is connected. Its ranks do their first ops on it. */
static int tune_child(struct split *sp)
{
	int ret;

	shm_map(sp->child);
	if (sp->named)
		return select_copy(sp->child, sp->parent);
	ret = select_inherit(sp->child, sp->parent, sp->members, sp->deadline);
	if (!ret)
		ret = settle_shm(sp);
	/* Other ranks of the part may wait in such an op. */
	if (ret)
		coll_abort(sp->child, (uint32_t)-ret);
	return ret;
}

static int run(struct split *sp, int status, int32_t color, int32_t key)
{
	int ret;

	ret = status ? status : prepare(sp, color, key);
	ret = wait_for_all(sp, ret);
	if (!ret)
		ret = gather(sp, sp->cards, sizeof(*sp->cards));
	if (ret)
		return ret;
	ret = join_child(sp);
	ret = agree(sp, patience_ns(sp), ret);
	if (!ret)
		ret = gather(sp, sp->blobs, RDV_BLOB);
	if (!ret)
		ret = connect_links(sp);
	if (ret)
		return ret;
	if (sp->child)
		ret = tune_child(sp);
	return agree(sp, patience_ns(sp), ret);
}

static void split_destroy(struct split *sp)
{
	if (sp->links)
		links_close(sp->links);
	if (sp->lfd >= 0)
		sock_close(sp->lfd);
	topology_destroy(&sp->topo);
	auth_wipe(&sp->secret, sizeof(sp->secret));
	free(sp->cards);
	free(sp->members);
	free(sp->blobs);
	free(sp->addrs);
}

/* @status: an error that this rank has to tell the others. */
static int make_part(struct split *sp, int status, int32_t color, int32_t key,
		     coll_comm_t **newcomm)
{
	struct fp_state fp;
	int ret;

	if (newcomm)
		*newcomm = NULL;
	if (!sp->parent)
		return -EINVAL;
	sp->lfd = -1;
	fp_enter(&fp, false);
	ret = run(sp, status ? status : newcomm ? 0 : -EINVAL, color, key);
	fp_leave(&fp);
	if (ret)
		coll_debug("coll_comm_split: %s", coll_strerror(ret));
	split_destroy(sp);
	if (!ret)
		*newcomm = sp->child;
	else
		coll_finalize(sp->child);
	return ret;
}

int coll_comm_split(coll_comm_t *comm, int32_t color, int32_t key, coll_comm_t **newcomm)
{
	struct split sp = { .parent = comm };

	coll_explain("%s", "");
	return make_part(&sp, 0, color, key, newcomm);
}

int coll_comm_dup(coll_comm_t *comm, coll_comm_t **newcomm)
{
	return coll_comm_split(comm, 0, comm ? (int32_t)comm->rank : 0, newcomm);
}

int split_reorder(coll_comm_t *comm, const uint32_t *place, coll_comm_t **newcomm)
{
	struct split sp = { .parent = comm, .place = place };

	return make_part(&sp, 0, 0, (int32_t)comm->rank, newcomm);
}

int split_named(coll_comm_t *comm, int status, coll_comm_t **newcomm)
{
	struct split sp = { .parent = comm, .named = true };

	if (!status && comm && !(comm->version.features & COLL_FEAT_TENSORS))
		status = -EOPNOTSUPP;
	return make_part(&sp, status, 0, comm ? (int32_t)comm->rank : 0, newcomm);
}
