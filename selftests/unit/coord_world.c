// SPDX-License-Identifier: GPL-2.0
/* See coord_world.h. All that changes is in one structure, so a state is saved by a copy. */
#include <stdio.h>
#include <stdlib.h>

#include "coord_world.h"
#include "pure/coord/coord.h"
#include "pure/coord/coord_order.h"
#include "pure/coord/coord_params.h"
#include "pure/coord/coord_table.h"
#include "pure/coord/coord_talk.h"
#include "pure/coord/coord_wire.h"
#include "tap.h"

#define BUCKETS		4
#define ENTRY		1440
#define CHANNEL		2
#define REC		320
#define FLYING		64
#define ORDERS		1024

static const char name_of[WORLD_NAMES] = { 'a', 'b', 'c', 'd', 'g', 'h' };

struct channel {
	u32 nr;
	u32 len[CHANNEL];
	u8 buf[CHANNEL][REC];
};

struct node {
	struct coll_coord c;
	struct coll_coord_entry *names[BUCKETS], *ids[BUCKETS];
	struct coll_chain groups[1];
	u64 joined[1];
	u32 local[8];
	u32 nr_local, parent, child;
	u32 nr_used, nr_orders;
	u32 fused, lacking;		/* bits: names of this fusion; names that some rank lacks */
	struct channel up, down;
	_Alignas(16) u8 entries[WORLD_NAMES][ENTRY];
};

struct rank {
	u32 node, local;
	const char *at;
	u8 pending[WORLD_NAMES];	/* 1, 2 with a deadline, or 3: refused */
	u8 variant[WORLD_NAMES];
	u16 started[WORLD_NAMES];
	bool joined, left, was_left;
	u32 last;			/* to join, plus 1 */
	char script[WORLD_SCRIPT];
};

static struct world {
	u32 nr_nodes, nr_ranks;
	bool clean;
	u32 nr_orders;
	u32 last_joined;
	u32 window, nr_flying, looks, starts;
	u64 flying[FLYING];		/* bytes of ops that are not over, oldest first */
	u64 starting;			/* bytes of the fusion at hand */
	u8 orders[ORDERS];
	struct rank ranks[WORLD_RANKS];
	struct node nodes[];		/* nr_nodes */
} *w;

const char *world_fault;

static void fault(const char *what)
{
	if (!world_fault)
		world_fault = what;
}

static u32 name_nr(char c)
{
	u32 k;

	for (k = 0; k < WORLD_NAMES; k++)
		if (name_of[k] == c)
			return k;
	fprintf(stderr, "no name: %c\n", c);
	abort();
}

static u32 nr_of_entry(const struct coll_coord_entry *e)
{
	return name_nr((char)e->name[0]);
}

static struct node *node_of(struct coll_coord *c)
{
	return c->user;
}

/* --- what happens --------------------------------------------------------------- */

/* A tensor that starts first on the root starts first on all nodes. */
static void check_order(struct node *n, u8 what)
{
	if (n == &w->nodes[0]) {
		if (w->nr_orders < ORDERS)
			w->orders[w->nr_orders++] = what;
	} else if (n->nr_orders >= w->nr_orders || w->orders[n->nr_orders] != what) {
		fault("nodes start tensors in different order");
	}
	n->nr_orders++;
}

static bool joinable(u32 name)
{
	return name_of[name] < 'g';
}

/* The root starts a name: all ranks that have not joined must have submitted it, all alike. */
static void check_all(u32 name, u32 contributors)
{
	u32 r, nr = 0, first = WORLD_RANKS;

	for (r = 0; r < w->nr_ranks; r++) {
		const struct rank *k = &w->ranks[r];

		if (!k->pending[name]) {
			if (!k->joined)
				fault("started, and a rank has not submitted it");
			else if (!joinable(name))
				fault("started, although a rank has joined");
			continue;
		}
		if (k->pending[name] == 3)
			fault("started, and a rank has refused it");
		nr++;
		if (first == WORLD_RANKS)
			first = r;
		if (k->variant[name] != w->ranks[first].variant[name])
			fault("started, although ranks disagree");
	}
	if (nr != contributors)
		fault("a wrong number of contributors");
}

/* An op is started at the root. */
static void take_off(u64 bytes, bool last)
{
	w->starting += bytes;
	if (!last)
		return;
	if (w->window && w->nr_flying >= w->window)
		fault("more is started than there is room for");
	if (w->nr_flying < FLYING)
		w->flying[w->nr_flying++] = w->starting;
	w->starting = 0;
}

/* Tensors of a fusion are alike, and all ranks have submitted them. */
static void check_fusion(struct node *n, u32 name, bool lacks, bool last)
{
	n->fused |= 1U << name;
	n->lacking |= lacks ? 1U << name : 0;
	if (n->fused & (n->fused - 1)) {
		if (n->lacking)
			fault("fused, although a rank lacks one of them");
		if (n->fused >> name_nr('g') && n->fused & ((1U << name_nr('g')) - 1))
			fault("fused, although not alike");
	}
	if (last)
		n->fused = n->lacking = 0;
}

static void on_start(struct coll_coord *c, struct coll_coord_entry *e, u32 contributors,
		     bool last)
{
	struct node *n = node_of(c);
	u32 name = nr_of_entry(e), k;

	/* Nodes agree about the end of a fusion, too. */
	check_order(n, (u8)(1 + name + (last ? 0 : 32)));
	check_fusion(n, name, contributors < w->nr_ranks, last);
	if (n == &w->nodes[0]) {
		check_all(name, contributors);
		take_off(coll_coord_bytes(&e->known), last);
	}
	for (k = 0; k < n->nr_local; k++) {
		struct rank *r = &w->ranks[n->local[k]];

		if (!(e->ranks[0] >> k & 1)) {
			if (!r->joined)
				fault("started without a rank of the node");
			continue;
		}
		if (!r->pending[name])
			fault("started twice");
		r->pending[name] = 0;
		r->started[name]++;
	}
}

static void on_end(struct coll_coord *c, struct coll_coord_entry *e,
		   const struct coll_coord_bad *bad)
{
	struct node *n = node_of(c);
	u32 name = nr_of_entry(e), k;

	if (w->clean)
		fault("failed without a reason");
	for (k = 0; k < n->nr_local; k++) {
		struct rank *r = &w->ranks[n->local[k]];

		if (!(e->ranks[0] >> k & 1))
			continue;
		if (!r->pending[name])
			fault("ended twice");
		r->pending[name] = 0;
	}
}

static void on_joined(struct coll_coord *c, u32 rank)
{
	struct node *n = node_of(c);
	u32 k;

	check_order(n, (u8)(64 + rank));
	for (k = 0; n == &w->nodes[0] && k < w->nr_ranks; k++)
		if (!w->ranks[k].joined)
			fault("all have joined, but for one");
	for (k = 0; k < n->nr_local; k++) {
		struct rank *r = &w->ranks[n->local[k]];

		if (!r->joined)
			fault("all have joined, but for one of the node");
		r->joined = false;
		r->last = rank + 1;
	}
}

static void on_left(struct coll_coord *c, u32 rank)
{
	struct node *n = node_of(c);
	u32 k;

	for (k = 0; k < n->nr_local; k++) {
		struct rank *r = &w->ranks[n->local[k]];

		r->joined = false;
		r->was_left = true;
	}
}

/* FNV-1a (Fowler, Noll, Vo; RFC 9923), its upper half folded into the lower. */
u64 name_hash(const struct coll_coord *c, const void *name, u32 len)
{
	const u8 *p = name;
	u64 h = 0xcbf29ce484222325ULL;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h ^ h >> 32;
}

static const struct coll_coord_ops ops = {
	.hash = name_hash,
	.start = on_start,
	.end = on_end,
	.joined = on_joined,
	.left = on_left,
};

/* --- steps ----------------------------------------------------------------------- */

/* The spare entry of a node. */
static struct coll_coord_entry *spare_of(struct node *n)
{
	return n->nr_used < WORLD_NAMES ? (void *)n->entries[n->nr_used] : NULL;
}

static void used(struct node *n, const struct coll_coord_entry *spare)
{
	if (!spare)
		n->nr_used++;
}

static struct coll_coord_params params_of(u32 name, u32 variant, u64 group, u32 members)
{
	struct coll_coord_params p = { };

	p.field[COLL_FIELD_DTYPE] = COLL_F32;
	p.field[COLL_FIELD_OP] = COLL_OP_SUM;
	p.field[COLL_FIELD_COLLECTIVE] = joinable(name) ? COLL_ALLREDUCE : COLL_ALLGATHER;
	p.field[COLL_FIELD_NDIM] = 1;
	p.field[COLL_FIELD_DIM0] = 10 + variant;
	p.field[COLL_FIELD_GROUP] = group;
	p.field[COLL_FIELD_MEMBERS] = members;
	return p;
}

static int post(struct rank *r, char letter, u32 variant, u64 group, u32 members, bool deadline)
{
	struct node *n = &w->nodes[r->node];
	u32 name = name_nr(letter);
	struct coll_coord_params p = params_of(name, variant, group, members);
	struct coll_coord_entry *spare = spare_of(n), *e;
	u8 was = r->pending[name];
	int ret;

	/* Set this before: coll_coord_post() may start the name at once. */
	r->pending[name] = deadline ? 2 : 1;
	r->variant[name] = (u8)(variant + 16 * (group & 15));
	ret = coll_coord_post(&n->c, r->local, &name_of[name], 1, &p, &spare, &e);
	used(n, spare);
	if (ret)
		r->pending[name] = was;
	return ret;
}

static struct coll_coord_entry *entry_of(struct node *n, u32 name)
{
	u32 k;

	for (k = 0; k < n->nr_used; k++) {
		struct coll_coord_entry *e = (void *)n->entries[k];

		if (nr_of_entry(e) == name)
			return e;
	}
	return NULL;
}

/* A rank cannot submit a member of its group. The name is pending until its round has ended. */
static void refuse(struct rank *r, char letter, u64 group)
{
	struct node *n = &w->nodes[r->node];
	u32 name = name_nr(letter);
	struct coll_coord_entry *spare = spare_of(n), *e;
	int ret;

	ret = coll_coord_refuse(&n->c, r->local, &name_of[name], 1, group, &spare, &e);
	used(n, spare);
	if (!ret && e)
		r->pending[name] = 3;
	if (ret && ret != -ESHUTDOWN)
		fault("a member cannot be refused");
}

/* Is this a mark of the letter before it? */
static bool is_mark(char c)
{
	return c == '\'' || c == '~' || c == '_';
}

/* Post the group whose letters begin at @at. */
static const char *post_group(struct rank *r, const char *at)
{
	const char *end = strchr(at, ')'), *k, *rest;
	struct node *n = &w->nodes[r->node];
	int ret, refused = 0;
	u64 group = 0;

	for (k = at + 1; k < end; k++) {
		if (is_mark(*k))
			continue;
		if (r->pending[name_nr(*k)])
			return NULL;
		group |= 1ULL << name_nr(*k);
	}
	for (k = at + 1; k < end; k++) {
		if (is_mark(*k) || k[1] == '_')
			continue;
		if (k[1] == '~')
			break;
		ret = post(r, *k, k[1] == '\'', group, (u32)__builtin_popcountll(group),
			   end[1] == '!');
		if (ret && ((ret != -ECANCELED && ret != -ESHUTDOWN) || w->clean))
			fault("a member of a group is refused");
		refused |= ret;
	}
	refused |= k < end;
	for (rest = k, k = at + 1; refused && k < rest; k++)
		if (!is_mark(*k) && r->pending[name_nr(*k)])
			coll_coord_give_up(&n->c, entry_of(n, name_nr(*k)), r->local, COLL_BAD_GROUP);
	for (k = rest; k < end; k++)
		if (!is_mark(*k))
			refuse(r, *k, group);
	return end + 1 + (end[1] == '!');
}

static const char *post_one(struct rank *r, const char *at)
{
	bool variant = at[1] == '\'', deadline = at[1] == '!', again = at[1] == '=';
	u8 pending = r->pending[name_nr(*at)];
	int ret;

	if (pending && !again)
		return NULL;
	if (again && !pending)
		return at + 2;
	ret = post(r, *at, variant, 0, 0, deadline);
	if (again) {
		if (ret != -EEXIST)
			fault("submitted although it is pending");
	} else if (ret && ((ret != -ECANCELED && ret != -ESHUTDOWN) || w->clean)) {
		fault("refused");
	}
	return at + 1 + (variant || deadline || again);
}

static bool waits(const struct rank *r)
{
	u32 k;

	for (k = 0; k < WORLD_NAMES; k++)
		if (r->pending[k])
			return true;
	return false;
}

/* The next token of a rank. Return: behind it, or NULL if it has to wait. */
static const char *play(struct rank *r)
{
	struct coll_coord *c = &w->nodes[r->node].c;
	const char *at = r->at;
	int ret;

	if (r->joined)
		return NULL;
	switch (*at) {
	case 0:
		return NULL;
	case ' ':
		return at + 1;
	case '.':
		return waits(r) ? NULL : at + 1;
	case '+':
		r->joined = true;
		ret = coll_coord_join(c, r->local);
		if (ret) {
			r->joined = false;
			if (ret != -ESHUTDOWN)
				fault("cannot join");
		}
		return at + 1;
	case '-':
		r->left = true;
		coll_coord_leave(c, r->local);
		return at + 1;
	case '(':
		return post_group(r, at);
	default:
		return post_one(r, at);
	}
}

static int step_rank(struct rank *r)
{
	const char *at = play(r);

	if (!at)
		return 0;
	while (*at == ' ')
		at++;
	r->at = at;
	coll_coord_run(&w->nodes[r->node].c);
	return 1;
}

static int step_expire(struct rank *r, u32 name)
{
	struct node *n = &w->nodes[r->node];

	if (r->pending[name] != 2)
		return 0;
	r->pending[name] = 1;
	coll_coord_give_up(&n->c, entry_of(n, name), r->local, COLL_BAD_TIMEOUT);
	coll_coord_run(&n->c);
	return 1;
}

static void push(struct channel *ch, const struct coll_coord_rec *r)
{
	ch->len[ch->nr] = coll_coord_put(ch->buf[ch->nr], r);
	ch->nr++;
}

static void pop(struct channel *ch, u8 *buf, u32 *len)
{
	*len = ch->len[0];
	memcpy(buf, ch->buf[0], *len);
	ch->nr--;
	memmove(&ch->len[0], &ch->len[1], ch->nr * sizeof(ch->len[0]));
	memmove(ch->buf[0], ch->buf[1], ch->nr * sizeof(ch->buf[0]));
}

/* One record leaves a node for its parent, or arrives at the parent; or from parent to node. */
static int step_link(struct node *n, u32 what)
{
	struct node *to = &w->nodes[n->parent];
	struct channel *ch = what < 2 ? &n->up : &n->down;
	struct coll_coord_rec r;
	u8 buf[REC];
	u32 len;
	int ret;

	if (what == 0 || what == 2) {
		if (ch->nr == CHANNEL)
			return 0;
		if (!(what ? coll_coord_to_child(&to->c, n->child, &r) :
		      coll_coord_to_parent(&n->c, &r)))
			return 0;
		push(ch, &r);
		return 1;
	}
	if (!ch->nr)
		return 0;
	pop(ch, buf, &len);
	if (coll_coord_get(buf, len, &r) != len)
		fault("a record that cannot be decoded");
	if (what == 3)
		to = n;
	{
		struct coll_coord_entry *spare = spare_of(to);

		ret = what == 1 ? coll_coord_from_child(&to->c, n->child, &r, &spare) :
		      coll_coord_from_parent(&to->c, &r, &spare);
		used(to, spare);
	}
	if (ret)
		fault("a node refuses a record");
	coll_coord_run(&to->c);
	return 1;
}

/* End the oldest op. Only a root with a window needs this step. */
static int step_over(void)
{
	u64 bytes = w->flying[0];

	if (!w->window || !w->nr_flying)
		return 0;
	w->nr_flying--;
	memmove(w->flying, w->flying + 1, w->nr_flying * sizeof(w->flying[0]));
	coll_coord_over(&w->nodes[0].c, bytes);
	return 1;
}

/* A node looks at the next tensor that a join may have made ready, or orders the next one. */
static int step_look(struct node *n)
{
	if (!n->c.look && !n->c.more)
		return 0;
	coll_coord_go_on(&n->c);
	coll_coord_run(&n->c);
	return 1;
}

int world_step(u32 n)
{
	u32 r;

	if (!n)
		return step_over();
	n--;

	if (n < w->nr_ranks)
		return step_rank(&w->ranks[n]);
	n -= w->nr_ranks;
	if (n < (w->nr_nodes - 1) * 4)
		return step_link(&w->nodes[1 + n / 4], n % 4);
	n -= (w->nr_nodes - 1) * 4;
	r = n / WORLD_NAMES;
	if (r < w->nr_ranks)
		return step_expire(&w->ranks[r], n % WORLD_NAMES);
	n -= w->nr_ranks * WORLD_NAMES;
	return n < w->nr_nodes ? step_look(&w->nodes[n]) : -1;
}

void world_check_end(void)
{
	u32 r, k;

	for (r = 0; r < w->nr_ranks; r++) {
		const struct rank *p = &w->ranks[r];

		if (waits(p))
			fault("something is pending for ever");
		if (*p->at)
			fault("a rank waits for ever");
		if (p->last != w->ranks[0].last && !p->was_left)
			fault("ranks disagree about the last one to join");
		for (k = 0; k < WORLD_NAMES && w->clean; k++)
			if (p->started[k] != w->ranks[0].started[k] && !strchr(p->script, '+') &&
			    !strchr(w->ranks[0].script, '+'))
				fault("not started everywhere");
		for (k = 0; k < WORLD_NAMES && w->starts; k++)
			if (strchr(p->script, name_of[k]) && p->started[k] != w->starts)
				fault("not started as often as it was submitted");
		/* of a group: all or none */
		if (p->script[0] != '(' || strpbrk(p->script, "- '~_"))
			continue;
		for (k = 2; p->script[k] != ')'; k++)
			if (p->started[name_nr(p->script[1])] != p->started[name_nr(p->script[k])])
				fault("a part of a group was started");
	}
	for (k = 1; k < w->nr_nodes; k++)
		if ((w->nodes[k].nr_orders != w->nr_orders ||
		     !coll_coord_has_applied(&w->nodes[k].c, (u32)w->nodes[0].c.serial)) &&
		    !w->nodes[k].c.left)
			fault("an order is missing on a node");
}

/* --- states ------------------------------------------------------------------------ */

static u64 hash[2];

static void add(u64 v)
{
	hash[0] = (hash[0] ^ v) * 0x9e3779b97f4a7c15ULL;
	hash[0] ^= hash[0] >> 29;
	hash[1] = (hash[1] + v) * 0xbf58476d1ce4e5b9ULL;
	hash[1] ^= hash[1] >> 31;
}

static void add_bytes(const void *p, size_t n)
{
	const u8 *b = p;
	u64 v;

	add(n);
	for (; n >= 8; n -= 8, b += 8) {
		memcpy(&v, b, 8);
		add(v);
	}
	while (n--)
		add(*b++);
}

static void add_bad(const struct coll_coord_bad *bad)
{
	add(bad->cause);
	if (bad->cause)
		add_bytes(bad, sizeof(*bad));
}

static void add_params(bool valid, const struct coll_coord_params *p)
{
	add(valid);
	if (!valid)
		return;
	add(p->field[COLL_FIELD_DIM0]);
	add(p->field[COLL_FIELD_GROUP]);
}

static void add_entry(const struct coll_coord_entry *e, u32 nr_local, u64 forgiven)
{
	add(e->name[0]);
	add(e->id);
	add(e->round);
	add(e->start.serial);
	add(e->end.serial);
	add_params(e->is_known, &e->known);
	add_params(e->is_wanted, &e->want);
	add(e->is_wanted ? e->want_rank : 0);
	add_bad(&e->bad);
	add_bad(&e->failing);
	add(e->children);
	add(e->contributors);
	add((u64)e->starting << 6 | (u64)e->going << 5 | (u64)e->whole << 4 |
	    (u64)(e->forgiven == forgiven) << 3 | (u64)e->leads << 2 | (u64)e->said << 1 | e->with_joined);
	add(e->ranks[0]);
	add_bytes(e->ranks + 1, nr_local * sizeof(u32));
	add(e->nr_members);
	add(e->edge ? (u64)((const char *)e->edge - (const char *)w) : 0);
	add(e->opens);
}

#define add_chain(head, member)							\
do {										\
	const struct coll_chain *l_;						\
										\
	for (l_ = (head)->next; l_ != (head); l_ = l_->next)			\
		add((u64)((const char *)l_ - (const char *)w));			\
	add(~0ULL);								\
} while (0)

static void add_log(const struct coll_coord *c)
{
	const struct coll_chain *l;

	for (l = c->log.next; l != &c->log; l = l->next) {
		const struct coll_coord_order *o =
			coll_chain_entry(l, struct coll_coord_order, link);

		add((u64)((const char *)l - (const char *)w));
		add(o->waiting);
		add((u64)o->kind << 2 | (u64)o->last << 1 | o->full);
		add(o->round);
		add(o->rank);
		add(o->contributors);
		if (o->kind == COLL_ORDER_BAD)
			add_bad(&o->bad);
	}
	add(~0ULL);
}

static void add_node(const struct node *n)
{
	const struct coll_coord *c = &n->c;
	u32 k;

	add(n->nr_used);
	for (k = 0; k < n->nr_used; k++)
		add_entry((const void *)n->entries[k], n->nr_local, c->forgiven);
	add_chain(&c->pending, pending);
	add(c->look ? (u64)((const char *)c->look - (const char *)w) : 0);
	add(c->more);
	add_chain(&c->groups[0], by_group);
	add_chain(&c->up, up);
	add_chain(&c->fresh, ready);
	add_chain(&c->ready, ready);
	add_chain(&c->failed, ready);
	add_chain(&c->held, ready);
	add_chain(&c->fusion, ready);
	add_chain(&c->others, ready);
	add((u64)((const char *)c->go - (const char *)w));
	add(c->go_at ? (u64)((const char *)c->go_at - (const char *)w) : 0);
	add_log(c);
	add(c->children_joined);
	add(c->serial);
	add(c->counted);
	add_bytes(c->got, sizeof(c->got));
	add(c->got_said);
	add(c->behind);
	add(n->joined[0]);
	add(c->join_said ? c->last_joined : ~0ULL);
	add(c->join_said);
	add((u64)c->left << 1 | c->leave_said);
	add(c->left || c->leave_said ? c->left_rank : 0);
	add(n->nr_orders);
	add(n->fused | (u64)n->lacking << 32);
	for (k = 0; k < n->up.nr; k++)
		add_bytes(n->up.buf[k], n->up.len[k]);
	add(~0ULL);
	for (k = 0; k < n->down.nr; k++)
		add_bytes(n->down.buf[k], n->down.len[k]);
}

void world_hash(uint64_t *h)
{
	u32 k, i;

	hash[0] = 0x243f6a8885a308d3ULL;
	hash[1] = 0x13198a2e03707344ULL;
	for (k = 0; k < w->nr_nodes; k++)
		add_node(&w->nodes[k]);
	for (k = 0; k < w->nr_ranks; k++) {
		const struct rank *r = &w->ranks[k];

		add((u64)(r->at - r->script));
		add(r->last);
		add((u64)r->joined << 2 | (u64)r->left << 1 | r->was_left);
		for (i = 0; i < WORLD_NAMES; i++)
			add((u64)r->started[i] << 16 | (u64)r->variant[i] << 8 | r->pending[i]);
	}
	if (w->window)
		add(w->nr_flying);
	add_bytes(w->orders, w->nr_orders);
	h[0] = hash[0];
	h[1] = hash[1];
}

size_t world_bytes(void)
{
	return sizeof(*w) + w->nr_nodes * sizeof(struct node);
}

void world_save(void *to)
{
	memcpy(to, w, world_bytes());
}

void world_load(const void *from)
{
	memcpy(w, from, world_bytes());
}

void world_print(void)
{
	u32 r, k;

	for (r = 0; r < w->nr_ranks; r++) {
		const struct rank *p = &w->ranks[r];

		printf("# rank %u on node %u at \"%s\"%s, pending", r, p->node, p->at,
		       p->joined ? ", joined" : "");
		for (k = 0; k < WORLD_NAMES; k++)
			if (p->pending[k])
				printf(" %c", name_of[k]);
		putchar('\n');
	}
}

/* --- beginnings ---------------------------------------------------------------------- */

static void make(u32 nr_nodes)
{
	free(w);
	w = calloc(1, sizeof(*w) + nr_nodes * sizeof(struct node));
	if (!w)
		abort();
	w->nr_nodes = nr_nodes;
	world_fault = NULL;
}

static void add_rank(u32 node, const char *script)
{
	struct node *n = &w->nodes[node];
	struct rank *r = &w->ranks[w->nr_ranks];

	r->node = node;
	r->local = n->nr_local;
	snprintf(r->script, sizeof(r->script), "%s", script);
	r->at = r->script;
	n->local[n->nr_local++] = w->nr_ranks++;
}

static void begin(void)
{
	u32 k;

	for (k = 0; k < w->nr_nodes; k++) {
		struct node *n = &w->nodes[k], *p = &w->nodes[n->parent];

		if (k) {
			n->child = (u32)__builtin_popcount(p->c.all_children);
			p->c.all_children |= 1U << n->child;
		}
	}
	for (k = 0; k < w->nr_nodes; k++) {
		struct node *n = &w->nodes[k];

		n->c.ops = &ops;
		n->c.user = n;
		n->c.names = n->names;
		n->c.ids = n->ids;
		n->c.nr_buckets = BUCKETS;
		n->c.groups = n->groups;
		n->c.nr_groups = 1;
		n->c.max_names = WORLD_NAMES;
		n->c.nr_local = n->nr_local;
		n->c.local = n->local;
		n->c.is_root = !k;
		n->c.joined = n->joined;
		n->c.threshold = 1 << 20;
		n->c.window_ops = w->window;
		n->c.looks = w->looks;
		n->c.orders = w->looks;
		if (coll_coord_entry_bytes(n->nr_local) > ENTRY)
			abort();
		coll_coord_init(&n->c);
	}
}

void world_start(const struct scene *s)
{
	const char *ranks = s->ranks, *parents = s->parents;
	u32 k, nr = 1, r = 0, n;
	char *end;

	for (k = 0; parents[k]; k++)
		nr += parents[k] != ' ' && (!k || parents[k - 1] == ' ');
	make(nr);
	w->clean = s->clean;
	w->window = s->window;
	w->looks = s->looks ? s->looks : 1;
	w->starts = s->starts;
	for (k = 0; k < nr; k++) {
		for (n = (u32)strtoul(ranks, &end, 10); n; n--)
			add_rank(k, s->scripts[r++]);
		ranks = end;
		if (!k)
			continue;
		w->nodes[k].parent = (u32)strtoul(parents, &end, 10);
		parents = end;
	}
	begin();
	for (k = 0; k < nr; k++)
		w->nodes[k].c.serial = w->nodes[k].c.counted = s->orders;
}

static u32 below(uint64_t *seed, u32 n)
{
	return (u32)(tap_random(seed) >> 33) % n;
}

/*
 * Rounds: in each, every rank submits the same names in an order of its own. Some are
 * groups, some have deadlines, and once in a while all join.
 */
static void random_script(uint64_t *seed, uint64_t plan, u32 rounds, char *to)
{
	static const char * const parts[] = { "a", "b", "g", "h", "(cd)" };
	uint64_t p = plan;
	u32 i, k, n;

	for (i = 0; i < rounds; i++) {
		u32 order[5] = { 0, 1, 2, 3, 4 };
		uint32_t which = (uint32_t)(tap_random(&p) >> 40);

		for (n = 5; n > 1; n--) {
			u32 j = below(seed, n), t = order[j];

			order[j] = order[n - 1];
			order[n - 1] = t;
		}
		for (k = 0; k < 5; k++)
			if (which >> order[k] & 1)
				to += sprintf(to, "%s%s ", parts[order[k]],
					      which >> 8 & 1 && !below(seed, 40) ? "!" : "");
		if (!(which >> 9 & 3))
			to += sprintf(to, "+ ");
	}
	*to = 0;
}

void world_start_random(uint32_t nodes, uint32_t per_node, uint32_t fanout, uint64_t *seed)
{
	uint64_t plan = tap_random(seed) | 1;
	char script[WORLD_SCRIPT];
	u32 k, r;

	make(nodes);
	w->window = below(seed, 3);
	w->looks = 1 + below(seed, 3);
	for (k = 0; k < nodes; k++) {
		w->nodes[k].parent = k ? (k - 1) / fanout : 0;
		for (r = 0; r < per_node; r++) {
			random_script(seed, plan, 8, script);
			add_rank(k, script);
		}
	}
	begin();
}
