// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A rank writes its slot and waits for the slots of the other ranks. If anything unexpected
 * happens, all ranks find it, and all give the op to the kernel. So ranks may begin an op here or
 * in the kernel, disagree, leave and die, as with ops in the kernel.
 *
 * There are twice as many slots as ops that a rank may have begun (COLL_SHM_DEPTH). A rank that
 * begins op p has seen op p - DEPTH end well, here or in the kernel. All ranks have begun that op,
 * so each has seen all ops up to p - 2 * DEPTH end, and has read their results. After an op that
 * has failed this does not hold: then nothing more is done here.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include "comm/buffers.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "nonblocking/async.h"
#include "shm_move.h"
#include "shm_op.h"

/* 2^this is the longest pause, in ops; see shm_op_pause(). */
#define PAUSE_MOST	6

/* Two words of a slot that are read as numbers, whatever fields they are. */
typedef uint64_t __attribute__((may_alias)) word;

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Read once: the other rank may change them at any time. Own counts are compared later. */
static bool says_the_same(const struct coll_shm_slot *slot, const struct shm_op *o)
{
	const word *w = (const word *)slot;

	return __atomic_load_n(&w[1], __ATOMIC_RELAXED) == o->kind &&
	       (o->own_count || __atomic_load_n(&w[2], __ATOMIC_RELAXED) == o->count);
}

/* Is it certain that a missing rank will not write its slot? Order of loads: see <linux/coll.h>. */
static bool is_astray(const struct shm *s, const struct shm_op *o, uint32_t rank)
{
	const struct coll_shm_rank *r = shm_rank(s, rank);
	bool gone = load((const uint64_t *)&r->posted) > o->posted ||
		    __atomic_load_n(&r->left, __ATOMIC_ACQUIRE);

	return gone && load((const uint64_t *)&shm_slot(s, rank, o->pos)->pos) != o->pos;
}

/* A rank is missing: look at the other ranks, too, which may be missing as well. */
static enum shm_outcome look_further(const struct shm *s, const struct shm_op *o)
{
	uint32_t r;

	for (r = o->next; r < s->n; r++)
		if (r != s->me && is_astray(s, o, r))
			return SHM_ASTRAY;
	return __atomic_load_n(&s->h->failed, __ATOMIC_ACQUIRE) ? SHM_FAILED : SHM_LATE;
}

/*
 * Return: bytes of the input of @rank that may be read now. A rank that writes a large input tells
 * how much of it is there, see shm_copy_in(). The rank begins its next op only after it has written
 * the whole input. So a number that belongs to a later op is not too large.
 */
static size_t readable(const struct shm *s, const struct shm_op *o, uint32_t rank)
{
	const struct coll_shm_slot *slot = shm_slot(s, rank, o->pos);
	const struct coll_shm_area *area = shm_area(s, rank);
	bool all = rank == s->me || load((const uint64_t *)&slot->pos) == o->pos;

	if (!all && load((const uint64_t *)&area->writing) != o->pos)
		return 0;
	if (!says_the_same(slot, o))
		return 0;
	return all ? SIZE_MAX : (size_t)load((const uint64_t *)&area->written);
}

void shm_op_copy(const struct shm *s, const struct shm_move *m, struct shm_op *o)
{
	while (o->copied.block < m->copy.blocks &&
	       shm_copy_block(s, m, o->pos, &o->copied,
			      readable(s, o, m->copy.first + o->copied.block)))
		;
}

static enum shm_outcome look_once(const struct shm *s, struct shm_op *o)
{
	const struct coll_shm_slot *slot;

	for (; o->next < s->n; o->next++) {
		if (o->next == s->me)
			continue;
		slot = shm_slot(s, o->next, o->pos);
		if (load((const uint64_t *)&slot->pos) != o->pos)
			return look_further(s, o);
		if (!says_the_same(slot, o))
			return SHM_DIFFERENT;
	}
	return SHM_COMPLETE;
}

enum shm_outcome shm_op_look_at_slots(const struct shm *s, struct shm_op *o)
{
	enum shm_outcome what = look_once(s, o);

	/*
	 * The last rank may have come between the look at its slot and the failure. Then the op is
	 * complete on the other ranks, and a later one has failed.
	 */
	return what == SHM_FAILED ? look_once(s, o) : what;
}

/* The first rank posts the op. Once it has, only the end matters, which comes in any case. */
static enum shm_outcome look_for_end(const struct shm *s, struct shm_op *o)
{
	const struct coll_shm_rank *own = shm_rank(s, s->me);
	enum shm_outcome what;

	if (load((const uint64_t *)&own->finished) >= o->pos)
		return SHM_COMPLETE;
	if (load((const uint64_t *)&own->posted) >= o->pos)
		return SHM_LATE;
	/* From the beginning: a rank may have withdrawn its slot. */
	o->next = 0;
	what = shm_op_look_at_slots(s, o);
	if (what == SHM_COMPLETE && shm_op_error(s))
		what = SHM_FAILED;
	else if (what == SHM_COMPLETE)
		what = __atomic_load_n(&shm_rank(s, 0)->left, __ATOMIC_ACQUIRE) ? SHM_ASTRAY :
		       SHM_LATE;
	/* It may have been posted before that. No post comes after a failure or an end. */
	if (what != SHM_LATE && load((const uint64_t *)&own->posted) >= o->pos)
		return SHM_LATE;
	return what;
}

enum shm_outcome shm_op_look(const struct shm *s, struct shm_op *o)
{
	return o->follows ? look_for_end(s, o) : shm_op_look_at_slots(s, o);
}

/* All ranks have written their slots. Ranks that sleep do not know it: wake them. */
static void wake_others(coll_comm_t *comm, const struct shm_op *o)
{
	const struct shm *s = comm->shm;
	uint32_t r;

	for (r = 0; r < s->n; r++) {
		if (r == s->me ||
		    load((const uint64_t *)&shm_area(s, r)->sleeps) != o->pos)
			continue;
		ioctl(comm->fd, COLL_IOC_SHM_WAKE);
		return;
	}
}

void shm_op_write(const struct shm *s, const struct shm_move *m, struct shm_op *o)
{
	struct coll_shm_slot *slot = shm_own_slot(s, o->pos);
	word *w = (word *)slot;

	o->kind = m->kind;
	o->count = m->count;
	o->own_count = m->own_count;
	/* Other ranks poll the head: write it together with ->pos, unless they need it early. */
	if (!m->in_parts)
		shm_move_write(s, m, o->pos);
	__atomic_store_n(&w[1], o->kind, __ATOMIC_RELAXED);
	__atomic_store_n(&w[2], o->count, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)&slot->scalar, m->cmd->scalar, __ATOMIC_RELAXED);
	if (m->in_parts)
		shm_move_write(s, m, o->pos);
	__atomic_store_n((uint64_t *)&slot->pos, o->pos, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void shm_op_retract(const struct shm *s, const struct shm_op *o)
{
	__atomic_store_n((uint64_t *)&shm_own_slot(s, o->pos)->pos, 0, __ATOMIC_SEQ_CST);
}

void shm_op_pause(struct shm *s, uint64_t pos)
{
	if (s->always)
		return;
	if (s->failures < PAUSE_MOST)
		s->failures++;
	s->next_try = (pos | ((1ULL << s->failures) - 1)) + 1;
}

void shm_op_no_pause(struct shm *s)
{
	if (s->failures)
		s->failures--;
}

static void count_op(struct shm *s, const struct shm_move *m)
{
	struct coll_shm_area *own = shm_own_area(s);
	size_t bytes = m->in_bytes > m->out_bytes ? m->in_bytes : m->out_bytes;

	s->ops++;
	__atomic_store_n((uint64_t *)&own->ops, s->ops, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)&own->bytes, own->bytes + bytes, __ATOMIC_RELAXED);
}

enum shm_outcome shm_op_finish(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o)
{
	wake_others(comm, o);
	if (!shm_move_agrees(comm->shm, m, o->pos))
		return SHM_DIFFERENT;
	shm_move_finish(comm->shm, m, o->pos, &o->copied);
	count_op(comm->shm, m);
	return SHM_COMPLETE;
}

int shm_op_error(const struct shm *s)
{
	return -(int)__atomic_load_n(&s->h->failed, __ATOMIC_ACQUIRE);
}

bool shm_op_begin(coll_comm_t *comm, struct shm_op *o, uint32_t before)
{
	struct shm *s = comm->shm;
	const struct coll_shm_rank *own = shm_rank(s, s->me);

	o->posted = load((const uint64_t *)&own->posted);
	o->pos = s->ops + o->posted + before + 1;
	o->next = 0;
	o->copied = (struct shm_copied){ 0 };
	o->follows = s->nodes && s->me;
	/*
	 * The kernel has refused the op that it was given last, but the slot says that there is
	 * such an op.
	 */
	if (s->gave == o->posted)
		s->broken = true;
	s->gave = ~0ULL;
	return !s->broken && o->pos >= s->next_try &&
	       load((const uint64_t *)&own->completed) == o->posted && !shm_op_error(s);
}

bool shm_op_buffers(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return !(cmd->flags & (COLL_CMD_REG_SEND | COLL_CMD_REG_RECV)) || buffers_hold(comm, cmd);
}
