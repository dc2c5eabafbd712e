/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory that the ranks of a node share, from coll_init() to coll_finalize(). <linux/coll.h>
 * tells how ops are done in it ("Shared memory of the ranks of a node"), shm/ does that.
 */
#ifndef LIBCOLL_SHM_H
#define LIBCOLL_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

/*
 * The most ranks for each CPU for COLL_SHM=measure. Beyond that no rank yields, with COLL_SHM=1: the
 * scheduler would too often switch between two ranks that both wait.
 */
#define SHM_CROWD_MOST	4

/* Then a rank hardly looks at all. */
#define SHM_DOUBTS_MOST	16

/* Kinds of collectives, by what they do with data: each has a limit of its own. */
enum shm_kind {
	SHM_COPIES,	/* also barriers */
	SHM_FOLDS,	/* it reduces */
	SHM_KINDS
};

struct async_shortcut;
struct shm_flights;
struct shm_plan;

/**
 * struct shm - shared memory of a communicator
 * @all: everything, read-only
 * @own: the own area, writable
 * @size: bytes of @all
 * @own_size: bytes of @own
 * @n: ranks of this node
 * @me: number of this rank among them
 * @ranks: ranks of the communicator
 * @rank: number of this rank among them
 * @nodes: there are several nodes: ops are done by the kernel, for all ranks of this node at once;
 *	see shm_node.h
 * @h: the header, which is in @all
 * @told: the first struct coll_shm_rank; this and the next five are what @h says
 * @areas: the first area
 * @told_size: bytes from one struct coll_shm_rank to the next
 * @area_size: bytes from one area to the next
 * @slot_offset: where the slots of an area begin
 * @slot_size: bytes from one slot to the next
 * @alive: a byte that is 0 in a child process, which must not use the memory
 * @turn: the thread that has the turn, and a state; see shm_turn.c
 * @given: number of ops that this rank had given to the kernel when that thread gave it its op
 * @always: no pauses: COLL_SHM=1
 * @broken: the slots of this rank may be wrong: it does not use shared memory any more
 * @ops: ops done here, and not by the kernel
 * @node_ops: with several nodes: ops that one rank has posted for all ranks of the node
 * @gave: number of ops that this rank had given to the kernel when it last gave it an op whose
 *	slot has been written. ~0: there is none
 * @looks_per_us: number of looks that take a microsecond
 * @spins: number of looks that pay before a sleep
 * @doubts: with several nodes: how often in a row a rank looked in vain, at most SHM_DOUBTS_MOST:
 *	each time it looks half as often before it sleeps
 * @crowd: ranks for each CPU, rounded up
 * @next_try: position from which on shared memory is tried again
 * @failures: logarithm of the length of the next pause; see shm_op_pause()
 * @ranked: the kernel folds in the order of ranks, in all collectives
 * @limit: bytes of an op at most, by its kind; see setup/shm_limit.c. If all are 0, nothing is done
 *	here, not even barriers
 * @plans: blocking commands that have been done here; NULL: none yet. Owned
 * @shortcut: how nonblocking ops are done here; NULL: they are not
 * @flights: nonblocking ops that have not ended; NULL: none yet. Owned; async->lock
 */
struct shm {
	const unsigned char *all;
	unsigned char *own;
	size_t size, own_size;
	uint32_t n, me;
	uint32_t ranks, rank;
	bool nodes;
	const struct coll_shm_header *h;
	const unsigned char *told, *areas;
	size_t told_size, area_size, slot_offset, slot_size;
	volatile unsigned char *alive;
	_Atomic uint64_t turn;
	_Atomic uint64_t given;
	bool always;
	bool broken;
	uint64_t ops;
	uint64_t node_ops;
	uint64_t gave;
	uint64_t looks_per_us;
	uint64_t spins;
	uint32_t doubts;
	uint32_t crowd;
	uint64_t next_try;
	uint32_t failures;
	bool ranked;
	size_t limit[SHM_KINDS];
	struct shm_plan *plans;
	const struct async_shortcut *shortcut;
	struct shm_flights *flights;
};

/* Has this node more than one rank? */
bool shm_is_needed(const coll_comm_t *comm);
/* Has this node more ranks than CPUs? */
bool shm_is_crowded(const coll_comm_t *comm);
/* Is the environment's COLL_SHM 1? */
bool shm_always(void);
/*
 * When this rank has joined: ask the kernel for its part of the memory. Without it every op
 * goes to the kernel. Return: this rank has its part.
 */
bool shm_open_own(coll_comm_t *comm);
/* When all ranks have their parts: map the memory. */
void shm_map(coll_comm_t *comm);
void shm_free(coll_comm_t *comm);

/* Fill in what every op needs of the header: offsets and sizes, which do not change. */
void shm_read_header(struct shm *s);

static inline const struct coll_shm_rank *shm_rank(const struct shm *s, uint32_t rank)
{
	return (const void *)(s->told + rank * s->told_size);
}

static inline const struct coll_shm_area *shm_area(const struct shm *s, uint32_t rank)
{
	return (const void *)(s->areas + rank * s->area_size);
}

static inline struct coll_shm_area *shm_own_area(const struct shm *s)
{
	return (void *)s->own;
}

/* The larger limit. */
static inline size_t shm_most(const struct shm *s)
{
	return s->limit[SHM_COPIES] > s->limit[SHM_FOLDS] ? s->limit[SHM_COPIES] :
							    s->limit[SHM_FOLDS];
}

static inline void shm_set_limits(struct shm *s, size_t limit)
{
	s->limit[SHM_COPIES] = limit;
	s->limit[SHM_FOLDS] = limit;
}

static inline size_t shm_slot_offset(const struct shm *s, uint64_t pos)
{
	return s->slot_offset + pos % COLL_SHM_SLOTS * s->slot_size;
}

static inline const struct coll_shm_slot *shm_slot(const struct shm *s, uint32_t rank, uint64_t pos)
{
	return (const void *)(s->areas + rank * s->area_size + shm_slot_offset(s, pos));
}

static inline struct coll_shm_slot *shm_own_slot(const struct shm *s, uint64_t pos)
{
	return (void *)(s->own + shm_slot_offset(s, pos));
}

static inline const unsigned char *shm_data(const struct shm *s, uint32_t rank, uint64_t pos)
{
	return (const unsigned char *)(shm_slot(s, rank, pos) + 1);
}

#endif
