/* SPDX-License-Identifier: GPL-2.0 */
/* A real rank with several ops in flight; the test plays the peer. */
#ifndef BURST_H
#define BURST_H

#include "peer.h"

#define BURST_SECOND	1000000000ULL
#define BURST_COUNT	2500
#define BURST_MOST	24
/* Ops that run at a time, and bytes of all of them: see Documentation/design.rst. */
#define BURST_RUN	16
#define BURST_BYTES	(4U << 20)

/**
 * struct burst - a real rank with several ops in flight, each in a thread of its own
 * @p: the peer of the rank
 * @op: the ops
 * @nr: how many of @op have been posted
 * @buf: room for the frames of one op
 */
struct burst {
	struct peer p;
	struct peer_op op[BURST_MOST];
	unsigned int nr;
	uint8_t *buf;
};

bool burst_start(struct burst *b);

/* Post one more op, behind those there are. */
bool burst_post(struct burst *b, enum peer_kind kind, uint64_t count);

/* Send the frames of rank 1 for the op of number @seq. */
bool burst_answer(struct burst *b, uint64_t seq);

/* The number of the op of the next DATA frame; 0: none comes in @ms. */
uint64_t burst_read(struct burst *b, int ms);

/* End everything; all ops must have results. Return: bytes outside of buffers that changed. */
size_t burst_stop(struct burst *b);

#endif
