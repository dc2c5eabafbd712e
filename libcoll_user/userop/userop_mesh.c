// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Collectives with operators of the user's own, by the mesh schedule: pieces go to their
 * owners, are folded there, and go back.
 *
 * The vector is taken in windows of one piece per rank. An alltoallv brings piece b of
 * every rank's window to rank b, which folds the `size` of them in rank order, and then
 *
 *	allreduce		an allgatherv hands the results to every rank
 *	reduce			a gatherv hands them to the root
 *	scan, exscan		an alltoallv hands every rank its prefix of each piece
 *	reduce_scatter		nothing: the piece is where it belongs
 *
 * So a rank sends and receives 2 D (p - 1) / p bytes (reduce_scatter: half of that) of a
 * vector of D bytes, every element is folded once, by one rank, with p - 1 calls, and no
 * partial result ever travels. Meanwhile the next window is on its way. This takes three
 * sets of pieces, for vectors of any length: one arrives, one is folded, one leaves.
 *
 * First of all an allgather tells every rank what every rank asks for. For small vectors it
 * brings the whole input, too, and every rank folds what it needs: one command, not three.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/relax.h"
#include "comm/comm.h"
#include "userop.h"
#include "userop_mesh.h"

#define SLOTS		3
/* The pieces of one window; with many ranks pieces are smaller. */
#define WINDOW		(8ULL << 20)
/* The most that the kernel takes as one buffer. */
#define MAX_BYTES	(256ULL << 30)
/* Bytes that one rank tells the others; keeps what is behind it aligned. */
#define ALIGN		64

uint64_t userop_piece = 256 << 10;
/* If the inputs of all ranks have no more bytes than this together, every rank gets all of them. */
uint64_t userop_small = 16 << 10;

/**
 * struct call - one call
 * @in: input; in place it is @out
 * @out: result, on ranks that get one
 * @count: elements of the vector
 * @blocks: reduce_scatter: elements of each block
 * @block: reduce_scatter_block: elements of every block
 * @deadline: by CLOCK_MONOTONIC in ns, 0 if there is none
 */
struct call {
	coll_comm_t *comm;
	enum coll_collective what;
	struct userop op;
	struct coll_user_type type;
	uint32_t me, size, root;
	const uint8_t *in;
	uint8_t *out;
	uint64_t count;
	const uint64_t *blocks;
	uint64_t block;
	uint64_t deadline;
};

/* struct call_id - what ranks must agree on */
struct call_id {
	uint32_t collective, dtype;
	uint64_t size, count, blocks;
	uint32_t root, commute;
	uint64_t piece, zero[2];
};

_Static_assert(sizeof(struct call_id) == ALIGN, "pieces behind it are aligned");

/**
 * struct slot - what one window needs
 * @pieces: one of each rank, of the block that is folded here
 * @packed: reduce_scatter: pieces of all blocks of this rank
 * @bring: counts, and displacements, of the command that brings the pieces
 * @take: the same of the command that takes results away
 * @bringing: request, NULL if there is none
 * @taking: request
 */
struct slot {
	uint8_t *pieces, *packed;
	uint64_t *bring, *take;
	coll_request_t *bringing, *taking;
};

/**
 * struct mesh - a call in windows
 * @piece: elements of a piece at most
 * @stride: bytes of it
 * @rounds: windows in all
 */
struct mesh {
	const struct call *c;
	uint64_t piece, stride, rounds;
	struct slot slots[SLOTS];
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One deadline for the whole call: each command has what is left of it. */
static void set_timeout(const struct call *c, struct coll_cmd *cmd)
{
	uint64_t t;

	if (!c->deadline)
		return;
	t = now();
	cmd->timeout_ns = t < c->deadline ? c->deadline - t : 1;
}

static bool scatters(const struct call *c)
{
	return c->what == COLL_REDUCE_SCATTER || c->what == COLL_REDUCE_SCATTER_BLOCK;
}

static uint64_t block_len(const struct call *c, uint32_t b)
{
	return c->blocks ? c->blocks[b] : c->block;
}

static uint64_t block_at(const struct call *c, uint32_t b)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < b; i++)
		at += block_len(c, i);
	return at;
}

static uint64_t longest_block(const struct call *c)
{
	uint64_t most = 0;
	uint32_t b;

	for (b = 0; b < c->size; b++)
		if (block_len(c, b) > most)
			most = block_len(c, b);
	return most;
}

/* Afterwards piece k is the fold of the pieces of ranks 0 .. k, up to @last. */
static void fold(const struct call *c, uint8_t *pieces, uint64_t stride, uint64_t n,
		 uint32_t last)
{
	uint32_t k;

	for (k = 1; n && k <= last; k++)
		c->op.fn(pieces + (k - 1) * stride, pieces + k * stride, n, &c->type,
			 c->op.arg);
}

/* --- what every rank asks for, and small vectors ----------------------------- */

static void describe(const struct call *c, struct call_id *id)
{
	uint64_t digest = 0xcbf29ce484222325ULL;
	uint32_t b;

	for (b = 0; c->blocks && b < c->size; b++)
		digest = (digest ^ c->blocks[b]) * 0x9e3779b97f4a7c15ULL;
	*id = (struct call_id){
		.collective = (uint32_t)c->what, .dtype = (uint32_t)c->type.dtype,
		.size = c->type.size, .count = c->count, .blocks = digest,
		.root = c->root, .commute = c->op.commute, .piece = c->op.piece,
	};
}

static bool all_agree(const struct call *c, const uint8_t *all, uint64_t stride)
{
	uint32_t k;

	for (k = 0; k < c->size; k++)
		if (memcmp(all + k * stride, all + c->me * stride, sizeof(struct call_id)))
			return false;
	return true;
}

/* The others are in their exchange(), and must not wait for this rank. */
static int no_memory(const struct call *c)
{
	coll_abort(c->comm, ENOMEM);
	return -ENOMEM;
}

/*
 * Gather the description of every rank, with @bytes of its input behind it, in @all, which has
 * @stride bytes for each rank. The kernel finds a rank that asks for another length.
 */
static int exchange(const struct call *c, uint8_t *all, uint64_t stride, uint64_t bytes)
{
	uint8_t *mine = all + c->me * stride;
	struct coll_cmd cmd;
	struct call_id id;
	int ret;

	describe(c, &id);
	memset(mine, 0, stride);
	memcpy(mine, &id, sizeof(id));
	if (bytes)
		memcpy(mine + sizeof(id), c->in, bytes);
	coll_cmd_allgather(c->comm, &cmd, COLL_IN_PLACE, all, stride, COLL_BYTE);
	set_timeout(c, &cmd);
	ret = coll_submit(c->comm, &cmd);
	/* The kernel may have refused the command: then the others do not hear of it. */
	if (ret == -ENOMEM)
		return no_memory(c);
	if (ret)
		return ret;
	return all_agree(c, all, stride) ? 0 : -EBADE;
}

/* All inputs are here: the part of the result that this rank gets. */
static void fold_small(const struct call *c, uint8_t *pieces, uint64_t stride)
{
	uint32_t last = c->size - 1;
	uint64_t n = c->count;

	if ((c->what == COLL_REDUCE && c->me != c->root) || (c->what == COLL_EXSCAN && !c->me))
		return;
	if (c->what == COLL_SCAN)
		last = c->me;
	if (c->what == COLL_EXSCAN)
		last = c->me - 1;
	if (scatters(c)) {
		pieces += block_at(c, c->me) * c->type.size;
		n = block_len(c, c->me);
	}
	fold(c, pieces, stride, n, last);
	if (n)
		memcpy(c->out, pieces + last * stride, n * c->type.size);
}

static int run_small(const struct call *c, uint64_t bytes)
{
	uint64_t stride = (sizeof(struct call_id) + bytes + ALIGN - 1) / ALIGN * ALIGN;
	uint8_t *all = malloc(c->size * stride);
	int ret;

	if (!all)
		return no_memory(c);
	ret = exchange(c, all, stride, bytes);
	if (!ret && bytes)
		fold_small(c, all + sizeof(struct call_id), stride);
	free(all);
	return ret;
}

/* --- windows ---------------------------------------------------------------- */

static uint64_t window_at(const struct mesh *m, uint64_t round)
{
	return round * m->piece * m->c->size;
}

static uint64_t window_len(const struct mesh *m, uint64_t round)
{
	return min_u64(m->piece * m->c->size, m->c->count - window_at(m, round));
}

/* Elements of a window, or of block @b, that rank @b folds. */
static uint64_t part_len(const struct mesh *m, uint64_t round, uint32_t b)
{
	uint64_t n, done = round * m->piece;

	if (scatters(m->c)) {
		n = block_len(m->c, b);
		return done < n ? min_u64(n - done, m->piece) : 0;
	}
	n = window_len(m, round);
	return n / m->c->size + (b < n % m->c->size);
}

/* Where they begin in the window. */
static uint64_t part_at(const struct mesh *m, uint64_t round, uint32_t b)
{
	uint64_t n = window_len(m, round);

	return n / m->c->size * b + min_u64(b, n % m->c->size);
}

static uint8_t *result_at(const struct mesh *m, uint64_t round)
{
	return m->c->out + window_at(m, round) * m->c->type.size;
}

/* Counts and displacements in bytes of all parts of a window. */
static void window_parts(const struct mesh *m, uint64_t round, uint64_t *counts,
			 uint64_t *displs)
{
	uint32_t b;

	for (b = 0; b < m->c->size; b++) {
		counts[b] = part_len(m, round, b) * m->c->type.size;
		displs[b] = part_at(m, round, b) * m->c->type.size;
	}
}

/* With one window there is nothing to overlap, and waiting threads help the kernel. */
static int run(const struct mesh *m, struct coll_cmd *cmd, coll_request_t **req)
{
	set_timeout(m->c, cmd);
	return m->rounds == 1 ? coll_submit(m->c->comm, cmd) :
	       coll_isubmit(m->c->comm, cmd, req);
}

/* The application's function is called now and then, as in any blocking call. */
static int wait_idle(coll_comm_t *comm, coll_request_t *req)
{
	uint64_t start = relax_now_ns(), ns = RELAX_FIRST_NS;
	int done, ret;

	while (ret = coll_wait_for(req, ns, &done), !done)
		ns = comm->idle(comm->idle_arg, relax_now_ns() - start);
	return ret;
}

static int reap(const struct call *c, coll_request_t **req)
{
	int ret = *req && c->comm->idle ? wait_idle(c->comm, *req) : coll_wait(*req);

	*req = NULL;
	return ret;
}

/*
 * Blocks are far apart. Copied together they cost the kernel no pinning of all that is
 * between them, and in place nothing that a result overwrites is still to be sent.
 */
static void pack(const struct mesh *m, struct slot *s, uint64_t round, uint64_t *counts,
		 uint64_t *displs)
{
	const struct call *c = m->c;
	uint64_t at = round * m->piece;
	uint32_t b;

	for (b = 0; b < c->size; b++) {
		counts[b] = part_len(m, round, b) * c->type.size;
		displs[b] = b * m->stride;
		if (counts[b])
			memcpy(s->packed + displs[b], c->in + at * c->type.size, counts[b]);
		at += block_len(c, b);
	}
}

static int bring(struct mesh *m, uint64_t round)
{
	const struct call *c = m->c;
	struct slot *s = &m->slots[round % SLOTS];
	uint64_t *counts = s->bring, *displs = s->bring + 2 * c->size;
	uint64_t mine = part_len(m, round, c->me) * c->type.size;
	const uint8_t *from = s->packed;
	struct coll_cmd cmd;
	uint32_t k;

	if (scatters(c)) {
		pack(m, s, round, counts, displs);
	} else {
		from = c->in + window_at(m, round) * c->type.size;
		window_parts(m, round, counts, displs);
	}
	for (k = 0; k < c->size; k++) {
		counts[c->size + k] = mine;
		displs[c->size + k] = k * m->stride;
	}
	coll_cmd_alltoallv(c->comm, &cmd, from, s->pieces, counts, displs, COLL_BYTE);
	return run(m, &cmd, &s->bringing);
}

/*
 * Fill in the command that sends each rank its prefix of the block that was folded here. In an
 * exscan a rank gets the prefix of the rank before it.
 */
static void scan_cmd(const struct mesh *m, const struct slot *s, uint64_t round,
		     struct coll_cmd *cmd)
{
	const struct call *c = m->c;
	uint64_t *counts = s->take, *displs = s->take + 2 * c->size;
	uint64_t mine = part_len(m, round, c->me) * c->type.size;
	bool ex = c->what == COLL_EXSCAN;
	uint32_t k;

	for (k = 0; k < c->size; k++) {
		counts[k] = ex && !k ? 0 : mine;
		displs[k] = ex && !k ? 0 : (k - ex) * m->stride;
	}
	window_parts(m, round, counts + c->size, displs + c->size);
	if (ex && !c->me)
		memset(counts + c->size, 0, c->size * sizeof(*counts));
	coll_cmd_alltoallv(c->comm, cmd, s->pieces,
			   ex && !c->me ? NULL : result_at(m, round), counts, displs,
			   COLL_BYTE);
}

static int take(struct mesh *m, uint64_t round)
{
	const struct call *c = m->c;
	struct slot *s = &m->slots[round % SLOTS];
	uint64_t *counts = s->take, *displs = s->take + 2 * c->size;
	uint64_t mine = part_len(m, round, c->me) * c->type.size;
	const uint8_t *folded = s->pieces + (c->size - 1) * m->stride;
	struct coll_cmd cmd;

	switch (c->what) {
	case COLL_ALLREDUCE:
		window_parts(m, round, counts, displs);
		coll_cmd_allgatherv(c->comm, &cmd, folded, result_at(m, round), counts, displs,
				    COLL_BYTE);
		break;
	case COLL_REDUCE:
		window_parts(m, round, counts, displs);
		coll_cmd_gatherv(c->comm, &cmd, folded, mine,
				 c->me == c->root ? result_at(m, round) : NULL, counts,
				 displs, COLL_BYTE, c->root);
		break;
	case COLL_SCAN:
	case COLL_EXSCAN:
		scan_cmd(m, s, round, &cmd);
		break;
	default:
		if (mine)
			memcpy(c->out + round * m->stride, folded, mine);
		return 0;
	}
	return run(m, &cmd, &s->taking);
}

static int work(struct mesh *m)
{
	const struct call *c = m->c;
	uint64_t round;
	int ret = bring(m, 0);

	for (round = 0; round < m->rounds && !ret; round++) {
		struct slot *s = &m->slots[round % SLOTS];
		struct slot *next = &m->slots[(round + 1) % SLOTS];

		ret = reap(c, &s->bringing);
		if (!ret && round + 1 < m->rounds) {
			/* Of two rounds ago. It is over: the command waited for came later. */
			ret = reap(c, &next->taking);
			if (!ret)
				ret = bring(m, round + 1);
		}
		if (ret)
			break;
		fold(c, s->pieces, m->stride, part_len(m, round, c->me), c->size - 1);
		ret = take(m, round);
	}
	return ret;
}

/* Wait for all commands that are under way: of results, and after an error of pieces, too. */
static int drain(struct mesh *m)
{
	int first = 0, ret, i;

	for (i = 0; i < SLOTS; i++) {
		ret = reap(m->c, &m->slots[i].bringing);
		first = first ? first : ret;
		ret = reap(m->c, &m->slots[i].taking);
		first = first ? first : ret;
	}
	return first;
}

static void mesh_free(struct mesh *m)
{
	int i;

	for (i = 0; i < SLOTS; i++) {
		free(m->slots[i].pieces);
		free(m->slots[i].packed);
		free(m->slots[i].bring);
		free(m->slots[i].take);
	}
}

static void mesh_cut(struct mesh *m)
{
	const struct call *c = m->c;
	uint64_t longest = scatters(c) ? longest_block(c) :
			   c->count / c->size + !!(c->count % c->size);
	uint64_t piece = c->op.piece ? c->op.piece : userop_piece;
	uint64_t most = min_u64(piece, WINDOW / c->size) / c->type.size;

	m->piece = min_u64(most ? most : 1, longest);
	m->stride = m->piece * c->type.size;
	m->rounds = longest / m->piece + !!(longest % m->piece);
}

static int mesh_alloc(struct mesh *m)
{
	const struct call *c = m->c;
	uint64_t i;

	for (i = 0; i < min_u64(SLOTS, m->rounds); i++) {
		struct slot *s = &m->slots[i];

		s->pieces = malloc(c->size * m->stride);
		s->bring = malloc(4 * c->size * sizeof(uint64_t));
		s->take = malloc(4 * c->size * sizeof(uint64_t));
		if (!s->pieces || !s->bring || !s->take)
			return -ENOMEM;
		if (!scatters(c))
			continue;
		s->packed = malloc(c->size * m->stride);
		if (!s->packed)
			return -ENOMEM;
	}
	return 0;
}

/*
 * An error after all have agreed must end the call for the others, too: they wait for pieces
 * that will not come, and would take the next command of this rank for one of this call.
 */
static int work_or_abort(struct mesh *m)
{
	int ret = work(m), late;

	if (ret)
		coll_abort(m->c->comm, (uint32_t)-ret);
	late = drain(m);
	if (late && !ret)
		coll_abort(m->c->comm, (uint32_t)-late);
	return ret ? ret : late;
}

static int run_mesh(const struct call *c)
{
	struct mesh m = { .c = c };
	uint8_t *ids = malloc(c->size * sizeof(struct call_id));
	int ret;

	mesh_cut(&m);
	if (!ids || mesh_alloc(&m))
		ret = no_memory(c);
	else
		ret = exchange(c, ids, sizeof(struct call_id), 0);
	free(ids);
	if (!ret)
		ret = work_or_abort(&m);
	mesh_free(&m);
	return ret;
}

/* --- calls ------------------------------------------------------------------ */

/* Elements that this rank gets. */
static uint64_t result_len(const struct call *c)
{
	if (scatters(c))
		return block_len(c, c->me);
	if ((c->what == COLL_REDUCE && c->me != c->root) || (c->what == COLL_EXSCAN && !c->me))
		return 0;
	return c->count;
}

static int check_buffers(struct call *c, const void *send, void *recv, uint64_t *bytes)
{
	bool inplace = send == COLL_IN_PLACE || (send == recv && !scatters(c));
	uint64_t n = result_len(c), out;

	/* A rank that gets no result cannot be in place, except rank 0 of an exscan. */
	if (send == COLL_IN_PLACE && c->what == COLL_REDUCE && c->me != c->root)
		return -EINVAL;
	c->in = inplace ? recv : send;
	c->out = recv;
	if (c->count && (!c->in || (n && !recv)))
		return -EFAULT;
	if (userop_range(c->in, c->count, c->type.size, bytes) || *bytes > MAX_BYTES ||
	    (n && userop_range(recv, n, c->type.size, &out)))
		return -EINVAL;
	return n && !inplace && userop_overlap(send, *bytes, recv, out) ? -EINVAL : 0;
}

static int run_call(struct call *c, const void *send, void *recv, coll_op_t op)
{
	uint64_t timeout, bytes;
	int ret;

	if (!c->comm || userop_get(op, &c->op) || userop_type(&c->type) || c->root >= c->size)
		return -EINVAL;
	ret = check_buffers(c, send, recv, &bytes);
	if (ret)
		return ret;
	timeout = c->comm->timeout_ns;
	if (timeout && __builtin_add_overflow(now(), timeout, &c->deadline))
		c->deadline = UINT64_MAX;
	return bytes <= userop_small / c->size ? run_small(c, bytes) : run_mesh(c);
}

static struct call call_of(coll_comm_t *comm, enum coll_collective what, uint64_t count,
			   struct coll_user_type type, uint32_t root)
{
	return (struct call){
		.comm = comm, .what = what, .type = type, .count = count, .root = root,
		.me = coll_comm_rank(comm), .size = coll_comm_size(comm),
	};
}

int coll_user_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
			struct coll_user_type type, coll_op_t op)
{
	struct call c = call_of(comm, COLL_ALLREDUCE, count, type, 0);

	return run_call(&c, send, recv, op);
}

int coll_user_reduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		     struct coll_user_type type, coll_op_t op, uint32_t root)
{
	struct call c = call_of(comm, COLL_REDUCE, count, type, root);

	/* On other ranks @recv means nothing, even if it is equal to @send. */
	return run_call(&c, send, c.me == root ? recv : NULL, op);
}

int coll_user_reduce_scatter(coll_comm_t *comm, const void *send, void *recv,
			     const uint64_t *counts, struct coll_user_type type,
			     coll_op_t op)
{
	struct call c = call_of(comm, COLL_REDUCE_SCATTER, 0, type, 0);
	uint32_t b;

	if (!counts)
		return -EFAULT;
	c.blocks = counts;
	for (b = 0; b < c.size; b++)
		if (__builtin_add_overflow(c.count, counts[b], &c.count))
			return -EINVAL;
	return run_call(&c, send, recv, op);
}

int coll_user_reduce_scatter_block(coll_comm_t *comm, const void *send, void *recv,
				   uint64_t count, struct coll_user_type type,
				   coll_op_t op)
{
	struct call c = call_of(comm, COLL_REDUCE_SCATTER_BLOCK, 0, type, 0);

	c.block = count;
	if (__builtin_mul_overflow(count, c.size, &c.count))
		return -EINVAL;
	return run_call(&c, send, recv, op);
}

int coll_user_scan(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   struct coll_user_type type, coll_op_t op)
{
	struct call c = call_of(comm, COLL_SCAN, count, type, 0);

	return run_call(&c, send, recv, op);
}

int coll_user_exscan(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		     struct coll_user_type type, coll_op_t op)
{
	struct call c = call_of(comm, COLL_EXSCAN, count, type, 0);

	return run_call(&c, send, recv, op);
}
