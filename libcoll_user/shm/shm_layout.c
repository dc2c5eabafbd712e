// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "collective.h"
#include "comm/shm.h"
#include "shm_fold.h"
#include "shm_layout.h"
#include "shm_move.h"

/* From this many bytes on, an input is written in parts: twice the length of a part. */
#define LARGE	32768

static void *at(uint64_t addr, size_t offset)
{
	return addr ? (char *)(uintptr_t)addr + offset : NULL;
}

/* In place, the input is at the address of the output. */
static void in_place(struct shm_move *m, size_t offset)
{
	m->in = at(m->cmd->recv_addr, offset);
}

/* Every rank gives @give bytes and gets @get bytes. */
static void all_to_all(struct shm_move *m, size_t give, size_t get, size_t own)
{
	m->in_bytes = give;
	m->most = give;
	m->out_bytes = get;
	m->in = at(m->cmd->send_addr, 0);
	m->out = at(m->cmd->recv_addr, 0);
	if (m->cmd->flags & COLL_CMD_INPLACE)
		in_place(m, own);
}

/* Is the largest input of all ranks worth parts? The same on all ranks. */
static bool is_large(const struct shm *s, const struct shm_move *m)
{
	return !s->nodes && m->most >= LARGE;
}

/* Other ranks copy the input: write it in parts, so that they need not wait for the whole. */
static void in_parts(const struct shm *s, struct shm_move *m)
{
	m->in_parts = is_large(s, m) && m->own_bytes < m->in_bytes;
}

/*
 * The result is @blocks copies of @m->unit bytes, @offset bytes into the inputs of ranks @first and
 * on. Early copies must not change an input that the kernel may still have to read. In place, the
 * input of a gather is a block of the result that no early copy writes.
 */
static void copies(const struct shm *s, struct shm_move *m, uint32_t first, uint32_t blocks,
		   size_t offset)
{
	bool gathers = m->cmd->collective == COLL_GATHER || m->cmd->collective == COLL_ALLGATHER;

	if (!m->out || !m->unit)
		return;
	m->copy = (struct shm_copy){
		.first = first, .blocks = blocks, .offset = offset,
		.early = is_large(s, m) && (gathers || !(m->cmd->flags & COLL_CMD_INPLACE)),
	};
}

/* No other rank reads @bytes of the input, at @at. With several nodes the kernel reads the slot. */
static void keep(const struct shm *s, struct shm_move *m, size_t at, size_t bytes)
{
	if (s->nodes || !m->in_bytes)
		return;
	m->own_at = at;
	m->own_bytes = bytes;
}

/* Folds in place write to the memory of the input: the input has to be in the slot. */
static void keep_apart(const struct shm *s, struct shm_move *m, size_t at, size_t bytes)
{
	if (!(m->cmd->flags & COLL_CMD_INPLACE))
		keep(s, m, at, bytes);
}

static void no_output(struct shm_move *m)
{
	m->out = NULL;
	m->out_bytes = 0;
}

/* Every rank gives @give bytes, and the root gets @get. */
static void all_to_one(struct shm_move *m, bool root, size_t give, size_t get, size_t own)
{
	all_to_all(m, give, get, own);
	if (!root)
		no_output(m);
}

/* The root gives @give bytes, and every rank gets @get of it. */
static void one_to_all(struct shm_move *m, bool root, size_t give, size_t get)
{
	bool inplace = m->cmd->flags & COLL_CMD_INPLACE;

	m->in = root ? at(m->cmd->send_addr, 0) : NULL;
	m->in_bytes = root ? give : 0;
	m->most = give;
	m->out = inplace ? NULL : at(m->cmd->recv_addr, 0);
	m->out_bytes = inplace ? 0 : get;
}

static void broadcast(const struct shm *s, struct shm_move *m, bool root)
{
	m->in = root ? at(m->cmd->recv_addr, 0) : NULL;
	m->in_bytes = root ? m->unit : 0;
	m->most = m->unit;
	m->out = root ? NULL : at(m->cmd->recv_addr, 0);
	m->out_bytes = root ? 0 : m->unit;
	in_parts(s, m);
	copies(s, m, m->cmd->root, 1, 0);
}

static void reduce(const struct shm *s, struct shm_move *m, bool root)
{
	all_to_one(m, root, m->unit, m->unit, 0);
	if (root)
		keep_apart(s, m, 0, m->unit);
}

static void gather(const struct shm *s, struct shm_move *m, bool root)
{
	all_to_one(m, root, m->unit, m->unit * s->ranks, s->rank * m->unit);
	if (root)
		keep(s, m, 0, m->unit);
	in_parts(s, m);
	copies(s, m, 0, s->ranks, 0);
}

static void scatter(const struct shm *s, struct shm_move *m, bool root)
{
	one_to_all(m, root, m->unit * s->ranks, m->unit);
	keep(s, m, s->rank * m->unit, m->unit);
	in_parts(s, m);
	copies(s, m, m->cmd->root, 1, s->rank * m->unit);
}

static void scan(const struct shm *s, struct shm_move *m)
{
	all_to_all(m, m->unit, m->unit, 0);
	if (s->rank == s->ranks - 1)
		keep_apart(s, m, 0, m->unit);
}

static void exscan(const struct shm *s, struct shm_move *m)
{
	all_to_all(m, m->unit, m->unit, 0);
	if (!s->rank)
		no_output(m);
	if (!s->rank)
		in_parts(s, m);
	/* Nobody reads the input of the last rank, not even itself. */
	if (s->rank == s->ranks - 1)
		keep(s, m, 0, m->unit);
	/* The second rank gets the input of the first. */
	if (s->rank == 1 && shm_fold_keeps_one(m->fold))
		copies(s, m, 0, 1, 0);
}

static void reduce_scatter_block(const struct shm *s, struct shm_move *m)
{
	all_to_all(m, m->unit * s->ranks, m->unit, 0);
	keep_apart(s, m, s->rank * m->unit, m->unit);
}

static void allgather(const struct shm *s, struct shm_move *m)
{
	all_to_all(m, m->unit, m->unit * s->ranks, s->rank * m->unit);
	in_parts(s, m);
	copies(s, m, 0, s->ranks, 0);
}

static void alltoall(const struct shm *s, struct shm_move *m)
{
	all_to_all(m, m->unit * s->ranks, m->unit * s->ranks, 0);
	keep(s, m, s->rank * m->unit, m->unit);
	in_parts(s, m);
	copies(s, m, 0, s->ranks, s->rank * m->unit);
}

bool shm_layout(const struct shm *s, struct shm_move *m)
{
	bool root = m->cmd->root == s->rank;

	switch (m->cmd->collective) {
	case COLL_BARRIER:
		return true;
	case COLL_BROADCAST:
		broadcast(s, m, root);
		return true;
	case COLL_REDUCE:
		reduce(s, m, root);
		return true;
	case COLL_GATHER:
		gather(s, m, root);
		return true;
	case COLL_SCATTER:
		scatter(s, m, root);
		return true;
	case COLL_ALLREDUCE:
		all_to_all(m, m->unit, m->unit, 0);
		return true;
	case COLL_SCAN:
		scan(s, m);
		return true;
	case COLL_EXSCAN:
		exscan(s, m);
		return true;
	case COLL_REDUCE_SCATTER_BLOCK:
		reduce_scatter_block(s, m);
		return true;
	case COLL_ALLGATHER:
		allgather(s, m);
		return true;
	case COLL_ALLTOALL:
		alltoall(s, m);
		return true;
	default:
		return false;
	}
}
