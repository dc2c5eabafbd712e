/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The schedule of an allreduce, played in the test: vectors are rounded when they are sent, and
 * results are rounded, as coll must do it.
 */
#ifndef WIRE_TYPES_PLAY_H
#define WIRE_TYPES_PLAY_H

#include <stdlib.h>

#include "pure/algorithms/table.h"
#include "wire_types.h"

#define MAX_STEPS	160

static inline float fold(float a, float b, uint16_t op)
{
	if (op != COLL_OP_MIN && op != COLL_OP_MAX)
		return a + b;
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		return (op == COLL_OP_MIN) == !!signbit(a) ? a : b;
	return (op == COLL_OP_MIN) == (a < b) ? a : b;
}

/**
 * struct node - a participant
 * @steps: its schedule
 * @nr: number of steps
 * @at: the next step
 * @w: its vector
 * @took: how many transfers it has received, by sender
 * @gave: how many transfers it has sent, by receiver
 */
struct node {
	struct coll_step steps[MAX_STEPS];
	uint32_t nr, at;
	float w[COUNT];
	uint32_t took[RANKS], gave[RANKS];
};

static struct play {
	const struct raw_comm *c;
	uint16_t op;
	uint32_t wire, count, chunks;
	struct node node[RANKS];
	float *sent[RANKS][RANKS][MAX_STEPS];
} play;

/* Fold the inputs of a node behind @so_far. Without @has, @so_far is not used. */
static inline float fold_inputs(const struct play *p, uint32_t node, uint32_t i, bool has,
				float so_far)
{
	uint32_t r;

	for (r = 0; r < p->c->size; r++) {
		if (p->c->node_of[r] != node)
			continue;
		so_far = has ? fold(so_far, in[r][i], p->op) : in[r][i];
		has = true;
	}
	return so_far;
}

/* The value of element @i after a step that received @come. */
static inline float one(const struct play *p, uint32_t node, const struct coll_step *s, uint32_t i,
			float come)
{
	float there = p->node[node].w[i], x;
	bool last = s->flags & COLL_STEP_LAST;

	switch (s->action) {
	case COLL_ACT_COPY:
		return come;
	case COLL_ACT_INPUT:
		x = fold_inputs(p, node, i, false, 0);
		break;
	case COLL_ACT_REDUCE_IN:
		x = last ? fold(fold_inputs(p, node, i, false, 0), come, p->op) :
			   fold_inputs(p, node, i, true, come);
		break;
	case COLL_ACT_REDUCE:
		x = last ? fold(there, come, p->op) : fold(come, there, p->op);
		break;
	case COLL_ACT_FOLD_INPUT:
		x = last ? fold_inputs(p, node, i, true, there) :
			   fold(fold_inputs(p, node, i, false, 0), there, p->op);
		break;
	default:
		abort();
	}
	if (!(s->flags & COLL_STEP_FINAL))
		return x;
	return rounded(p->op == COLL_OP_AVG ? x / (float)p->c->size : x, p->wire);
}

/* Do the next step of a node. Return: false if it has none, or has to wait for a transfer. */
static inline bool play_step(struct play *p, uint32_t node)
{
	struct node *n = &p->node[node];
	const struct coll_step *s = &n->steps[n->at];
	uint32_t from, to, i;
	float *msg = NULL;

	if (n->at == n->nr)
		return false;
	from = (uint32_t)coll_chunk_start(p->count, p->chunks, s->chunk);
	to = (uint32_t)coll_chunk_start(p->count, p->chunks, s->chunk + s->nr_chunks);
	if (s->kind == COLL_STEP_RECV) {
		msg = p->sent[s->peer][node][n->took[s->peer]];
		if (!msg)
			return false;
		n->took[s->peer]++;
	} else if (s->kind == COLL_STEP_SEND) {
		msg = malloc((to - from + 1) * sizeof(*msg));
		p->sent[node][s->peer][n->gave[s->peer]++] = msg;
	}
	for (i = from; i < to; i++) {
		if (s->kind == COLL_STEP_SEND)
			msg[i - from] = rounded(n->w[i], p->wire);
		else
			n->w[i] = one(p, node, s, i, msg ? msg[i - from] : 0);
	}
	n->at++;
	return true;
}

static inline void play_all(struct play *p, const struct coll_algorithm *a)
{
	uint32_t n, k, nodes = p->c->nodes;
	bool moved = true;

	p->chunks = a->chunks(nodes);
	for (n = 0; n < nodes; n++) {
		struct coll_emit e = { .steps = p->node[n].steps, .cap = MAX_STEPS };

		memset(&p->node[n], 0, sizeof(p->node[n]));
		if (a->emit(&e, nodes, n, 0) || e.nr > MAX_STEPS)
			abort();
		p->node[n].nr = e.nr;
	}
	while (moved) {
		moved = false;
		for (n = 0; n < nodes; n++)
			while (play_step(p, n))
				moved = true;
	}
	for (n = 0; n < nodes * nodes; n++) {
		for (k = 0; k < MAX_STEPS; k++) {
			free(p->sent[n / nodes][n % nodes][k]);
			p->sent[n / nodes][n % nodes][k] = NULL;
		}
	}
}

#endif /* WIRE_TYPES_PLAY_H */
