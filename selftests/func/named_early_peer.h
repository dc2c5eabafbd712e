/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fusion of a small and a large tensor. The test plays the other node: it sends what the small
 * one needs, and holds back what the large one needs.
 */
#ifndef NAMED_EARLY_PEER_H
#define NAMED_EARLY_PEER_H

#include <pthread.h>
#include <sys/socket.h>

#include "harness.h"
#include "named_early.h"
#include "pure/schedule.h"
#include "say.h"

/* Elements of a tensor whose pages are pinned */
#define PAGES		3000
#define FRAME		65536
#define STREAM		(4 * LARGE * 4)

enum { SMALL_TAG = 1, LARGE_TAG };

/**
 * struct pair - a fusion of a small and a large tensor, of a real rank and one that the test plays
 * @p: the node that the test plays
 * @small: elements of the small tensor
 * @part: first element of each chunk of the fusion
 * @small_part: elements of the small tensor in each chunk; they come first
 * @in: inputs of the real rank, by tensor
 * @out: its results
 * @sent: one frame's payload
 * @sig: signature of the frames
 * @reader: reads the data stream
 * @got: what the real rank has sent there
 * @nr_got: bytes of it
 */
struct pair {
	struct peer p;
	uint32_t small, part[3], small_part[2];
	int32_t in[2][LARGE], out[2][LARGE], sent[2 * LARGE];
	uint64_t sig;
	pthread_t reader;
	uint8_t got[STREAM];
	size_t nr_got;
};

static inline void *read_all(void *arg)
{
	struct pair *j = arg;
	ssize_t n;

	while (j->nr_got < sizeof(j->got)) {
		n = recv(j->p.sock[1], j->got + j->nr_got, sizeof(j->got) - j->nr_got, 0);
		if (n <= 0)
			break;
		__atomic_add_fetch(&j->nr_got, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static inline struct coll_coord_rec ready(const char *name, uint32_t count)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);

	say_sum(&r, count);
	say_rename(&r, name);
	r.params.field[COLL_FIELD_DTYPE] = COLL_I32;
	r.params.field[COLL_FIELD_ALGORITHM] = COLL_ALG_RING;
	return r;
}

static inline int post(struct pair *j)
{
	struct coll_tensor t[2];
	struct coll_cmd cmds[2];
	uint32_t k;

	for (k = 0; k < 2; k++) {
		raw_allreduce(&cmds[k], j->in[k], j->out[k], k ? LARGE : j->small, COLL_I32,
			      COLL_OP_SUM);
		cmds[k].algorithm = COLL_ALG_RING;
		raw_tensor(&t[k], k ? "large" : "small", &cmds[k], k ? LARGE_TAG : SMALL_TAG);
	}
	return raw_post(j->p.c.fd[0], t, 2, NULL);
}

/* Node 0 orders both tensors, as one fusion with the small one first. */
static inline bool is_fused(struct pair *j)
{
	struct coll_coord_rec a, b;
	struct coll_frame f;
	int n;

	if (!peer_read_ctrl(&j->p, 0, &f, 10000) || f.type != COLL_FRAME_TENSOR)
		return false;
	n = coll_coord_get(j->p.payload, f.length, &a);
	return n > 0 && coll_coord_get(j->p.payload + n, f.length - n, &b) > 0 &&
	       a.kind == COLL_ORDER_START && !a.last && a.name_len == 5 && *a.name == 's' &&
	       b.kind == COLL_ORDER_START && b.last;
}

/* Each chunk of the fusion has elements of the small tensor first, then of the large one. */
static inline void lay_out(struct pair *j)
{
	uint64_t large[3];
	uint32_t c;

	for (c = 0; c < 3; c++) {
		large[c] = coll_chunk_start(LARGE, 2, c);
		j->part[c] = large[c] + coll_chunk_start(j->small, 2, c);
	}
	for (c = 0; c < 2; c++)
		j->small_part[c] = coll_chunk_start(j->small, 2, c + 1) -
				   coll_chunk_start(j->small, 2, c);
}

/* Return: the tensor that has element @i of chunk @c; @at is its index in that tensor. */
static inline uint32_t tensor_of(const struct pair *j, uint32_t c, uint32_t i, uint32_t *at)
{
	bool large = i >= j->small_part[c];

	*at = large ? i - j->small_part[c] + coll_chunk_start(LARGE, 2, c) :
		      i + coll_chunk_start(j->small, 2, c);
	return large;
}

static inline int32_t sum(uint32_t tensor, uint32_t i)
{
	return value(0, tensor, i) + value(1, tensor, i);
}

/* Send elements @from to @to of chunk @c: the inputs of the other rank, or the sums. */
static inline bool put(struct pair *j, uint32_t transfer, uint32_t c, uint32_t from, uint32_t to,
		       bool sums)
{
	uint8_t hdr[COLL_WIRE_HDR];
	struct coll_frame f;
	uint32_t i, k, n, at;

	for (; from < to; from += n) {
		n = to - from < FRAME / 4 ? to - from : FRAME / 4;
		for (i = 0; i < n; i++) {
			k = tensor_of(j, c, from + i, &at);
			j->sent[i] = sums ? sum(k, at) : value(1, k, at);
		}
		peer_frame(&j->p, &f, COLL_FRAME_DATA, n * 4);
		f.seq = 1;
		f.transfer = transfer;
		f.offset = from * 4;
		f.signature = j->sig;
		coll_wire_put_header(hdr, &f);
		if (!peer_write(&j->p, 1, hdr, sizeof(hdr)) ||
		    !peer_write(&j->p, 1, j->sent, n * 4))
			return false;
	}
	return true;
}

static inline uint32_t chunk(const struct pair *j, uint32_t c)
{
	return j->part[c + 1] - j->part[c];
}

/* Send chunk 1 of the other node, and of chunk 0 the sums of the small tensor. */
static inline bool put_first(struct pair *j)
{
	return put(j, 0, 1, 0, chunk(j, 1), false) && put(j, 1, 0, 0, j->small_part[0], true);
}

#endif /* NAMED_EARLY_PEER_H */
