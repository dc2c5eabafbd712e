// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The blocks of an input are one behind the other in a slot. If the ranks that read them do not
 * know the counts, the blocks are at equal distances instead: then each has the same room.
 *
 * If every rank knows all counts, @count of the slot is a digest of them. Else it is the count of
 * the rank's own block, and numbers come before the data: in the slot of a root the counts of all
 * blocks; in each slot of an alltoallv the counts of its input blocks, then of its output blocks.
 * Every rank compares all of these numbers, also those of other pairs of ranks, so all ranks get
 * the same answer. The numbers are only compared; all lengths come from the rank's own command.
 */
#include <string.h>

#include "collective.h"
#include "comm/shm.h"
#include "shm_counts.h"
#include "shm_move.h"

/* Every rank compares as many numbers as the square of this. */
#define ALLTOALLV_RANKS	16
/* The largest displacement of a block, in elements. */
#define FAR		(1ULL << 40)

bool shm_has_counts(uint32_t collective)
{
	return coll_kind_of(collective)->flags & COLL_KIND_COUNTS;
}

static uint64_t digest(const uint64_t *counts, uint32_t n)
{
	uint64_t h = n;
	uint32_t i;

	for (i = 0; i < n; i++) {
		h = (h ^ counts[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h;
}

/*
 * Set @side, and check its blocks. Return: false: the op goes to the kernel, because a block or a
 * displacement is too large, or blocks overlap or are out of order.
 */
static bool side_setup(const struct shm *s, const struct shm_move *m, struct shm_side *side,
		       const uint64_t *counts, const uint64_t *displs)
{
	uint64_t end = 0, i;

	*side = (struct shm_side){ .counts = counts, .displs = displs };
	for (i = 0; i < s->n; i++) {
		if (!counts[i])
			continue;
		/* A block is copied from the slot of another rank, even if its count differs. */
		if (counts[i] > m->limit || counts[i] * m->elem > m->limit ||
		    (displs && (displs[i] < end || displs[i] > FAR)))
			return false;
		end = (displs ? displs[i] : end) + counts[i];
		side->all += counts[i];
	}
	side->end = end;
	return true;
}

static const uint64_t *numbers(uint64_t addr)
{
	return (const uint64_t *)(uintptr_t)addr;
}

/* Elements of the block of this rank; a rank without counts has them in @cmd->count. */
static uint64_t own_count(const struct shm *s, const struct shm_move *m)
{
	return m->cmd->counts_addr ? numbers(m->cmd->counts_addr)[s->me] : m->cmd->count;
}

static size_t head_bytes(const struct shm_move *m)
{
	return m->nr_head * sizeof(uint64_t);
}

/* Bytes of a slot for each block, after the numbers. */
static size_t room_of(const struct shm *s, const struct shm_move *m)
{
	size_t numbers = m->cmd->collective == COLL_SCATTERV ? s->n : 2 * s->n;

	return (s->h->data_size - numbers * sizeof(uint64_t)) / s->n / 8 * 8;
}

static bool fits_rooms(const struct shm *s, const struct shm_move *m, const struct shm_side *side)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (side->counts[i] * m->elem > m->room)
			return false;
	return true;
}

static void *address(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/* A vector of one block, or of all. In place, the vector is in the other buffer. */
static void gives_one(const struct shm *s, struct shm_move *m, uint64_t at)
{
	const struct coll_cmd *c = m->cmd;
	char *in = address(c->flags & COLL_CMD_INPLACE ? c->recv_addr : c->send_addr);

	m->in = in && c->flags & COLL_CMD_INPLACE ? in + at * m->elem : in;
	m->in_bytes = own_count(s, m) * m->elem;
	m->most = m->in_bytes;
}

static void gives_all(struct shm_move *m)
{
	const struct coll_cmd *c = m->cmd;
	bool lies_there = c->flags & COLL_CMD_INPLACE && c->collective == COLL_REDUCE_SCATTER;

	m->in = address(lies_there ? c->recv_addr : c->send_addr);
	m->in_bytes = m->give.end * m->elem;
	m->most = m->give.all * m->elem;
}

static void gets_one(const struct shm *s, struct shm_move *m)
{
	bool stays = m->cmd->flags & COLL_CMD_INPLACE && m->cmd->collective == COLL_SCATTERV;

	m->out = stays ? NULL : address(m->cmd->recv_addr);
	m->out_bytes = stays ? 0 : own_count(s, m) * m->elem;
}

static void gets_all(struct shm_move *m)
{
	m->out = address(m->cmd->recv_addr);
	m->out_bytes = m->get.end * m->elem;
}

uint64_t shm_counts_before(const struct shm_side *side, uint32_t i)
{
	uint64_t at = 0;
	uint32_t k;

	for (k = 0; k < i; k++)
		at += side->counts[k];
	return at;
}

/* The displacement of an empty block may be any number. */
static uint64_t block_at(const struct shm_side *side, uint32_t i)
{
	if (!side->counts[i])
		return 0;
	return side->displs ? side->displs[i] : shm_counts_before(side, i);
}

static bool setup_known(const struct shm *s, struct shm_move *m)
{
	const uint64_t *counts = numbers(m->cmd->counts_addr), *displs = numbers(m->cmd->displs_addr);

	m->count = digest(counts, s->n);
	if (m->cmd->collective == COLL_ALLGATHERV) {
		if (!side_setup(s, m, &m->get, counts, displs))
			return false;
		gives_one(s, m, block_at(&m->get, s->me));
		gets_all(m);
		return true;
	}
	if (displs || !side_setup(s, m, &m->give, counts, NULL))
		return false;
	gives_all(m);
	gets_one(s, m);
	return true;
}

static bool setup_rooted(const struct shm *s, struct shm_move *m)
{
	const uint64_t *counts = numbers(m->cmd->counts_addr), *displs = numbers(m->cmd->displs_addr);
	bool gathers = m->cmd->collective == COLL_GATHERV;

	if (own_count(s, m) > m->limit)
		return false;
	m->count = own_count(s, m);
	m->own_count = true;
	m->head = counts;
	m->nr_head = counts ? s->n : 0;
	if (counts && !side_setup(s, m, gathers ? &m->get : &m->give, counts, displs))
		return false;
	if (gathers)
		gives_one(s, m, counts ? block_at(&m->get, s->me) : 0);
	if (gathers && counts)
		gets_all(m);
	if (gathers)
		return true;
	m->room = room_of(s, m);
	if (counts)
		gives_all(m);
	gets_one(s, m);
	return m->out_bytes <= m->room && (!counts || fits_rooms(s, m, &m->give));
}

static bool setup_exchange(const struct shm *s, struct shm_move *m)
{
	const uint64_t *counts = numbers(m->cmd->counts_addr), *displs = numbers(m->cmd->displs_addr);

	if (s->n > ALLTOALLV_RANKS || m->cmd->flags & COLL_CMD_INPLACE)
		return false;
	m->own_count = true;
	m->head = counts;
	m->nr_head = 2 * s->n;
	if (!side_setup(s, m, &m->give, counts, displs) ||
	    !side_setup(s, m, &m->get, counts + s->n, displs ? displs + s->n : NULL))
		return false;
	gives_all(m);
	gets_all(m);
	m->room = room_of(s, m);
	return fits_rooms(s, m, &m->give) && fits_rooms(s, m, &m->get);
}

bool shm_counts_setup(const struct shm *s, struct shm_move *m)
{
	const struct coll_cmd *c = m->cmd;
	bool rooted = coll_kind_of(c->collective)->flags & COLL_KIND_ROOTED;
	bool counts = !rooted || c->root == s->me, good;

	if (counts != !!c->counts_addr || (counts && c->count) || (!counts && c->displs_addr))
		return false;
	if (c->collective == COLL_ALLTOALLV)
		good = setup_exchange(s, m);
	else
		good = rooted ? setup_rooted(s, m) : setup_known(s, m);
	return good && head_bytes(m) + m->most <= m->limit &&
	       head_bytes(m) + m->room * s->n <= s->h->data_size;
}

static void pack(void *to, const struct shm_move *m, uint32_t n)
{
	size_t bytes;
	char *p = to;
	uint32_t i;

	for (i = 0; i < n; i++, p += m->room ? m->room : bytes) {
		bytes = m->give.counts[i] * m->elem;
		if (bytes)
			memcpy(p, (const char *)m->in + block_at(&m->give, i) * m->elem, bytes);
	}
}

void shm_counts_write(const struct shm *s, const struct shm_move *m, struct coll_shm_slot *slot)
{
	char *to = (char *)(slot + 1);

	if (m->nr_head)
		memcpy(to, m->head, head_bytes(m));
	if (m->give.counts)
		pack(to + head_bytes(m), m, s->n);
	else if (m->in_bytes)
		memcpy(to + head_bytes(m), m->in, m->in_bytes);
}

/* Read once: the other rank may change the number at any time. */
static uint64_t number_of(const struct shm *s, uint32_t rank, uint64_t pos, uint32_t i)
{
	const uint64_t *head = (const uint64_t *)shm_data(s, rank, pos);

	return __atomic_load_n(&head[i], __ATOMIC_RELAXED);
}

/* Has the block from rank @i the length that rank @k expects? */
static bool pair_agrees(const struct shm *s, uint64_t pos, uint32_t i, uint32_t k)
{
	return number_of(s, i, pos, k) == number_of(s, k, pos, s->n + i);
}

bool shm_counts_agree(const struct shm *s, const struct shm_move *m, uint64_t pos)
{
	bool all = m->cmd->collective == COLL_ALLTOALLV;
	const uint64_t *count;
	uint32_t i, k;

	for (i = 0; m->own_count && i < s->n; i++) {
		count = (const uint64_t *)&shm_slot(s, i, pos)->count;
		if (!all && __atomic_load_n(count, __ATOMIC_RELAXED) !=
			    number_of(s, m->cmd->root, pos, i))
			return false;
		for (k = 0; all && k < s->n; k++)
			if (!pair_agrees(s, pos, i, k))
				return false;
	}
	return true;
}

/* Block @i of the result, from @from. */
static void put_block(const struct shm_move *m, uint32_t i, const unsigned char *from)
{
	size_t bytes = m->get.counts[i] * m->elem;

	if (bytes)
		memcpy((char *)m->out + block_at(&m->get, i) * m->elem, from, bytes);
}

void shm_counts_finish(const struct shm *s, const struct shm_move *m, uint64_t pos)
{
	const struct coll_cmd *c = m->cmd;
	size_t head = s->n * sizeof(uint64_t);
	bool all = c->collective == COLL_ALLTOALLV;
	uint32_t i;

	if (c->collective == COLL_SCATTERV && m->out_bytes)
		memcpy(m->out, shm_data(s, c->root, pos) + head + s->me * m->room, m->out_bytes);
	for (i = 0; m->get.counts && i < s->n; i++)
		put_block(m, i, shm_data(s, i, pos) + (all ? 2 * head + s->me * m->room :
			  c->collective == COLL_GATHERV && i == c->root ? head : 0));
}
