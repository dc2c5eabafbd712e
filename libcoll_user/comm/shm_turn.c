// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <pthread.h>

#include "base/relax.h"
#include "collective.h"
#include "comm.h"
#include "shm.h"
#include "shm_turn.h"

/*
 * A turn: the state in bits 0 and 1, the number of the thread in bits 2 to 31, and a count of turns
 * above. The count tells a turn from a later one of the same thread.
 */
#define HERE	1ULL		/* it does its op in shared memory */
#define GIVEN	2ULL		/* it gives its op to the kernel */
#define STATES	(HERE | GIVEN)
#define WHOSE	0xffffffffULL	/* state and thread; 0: no thread has the turn */
#define COUNT	(WHOSE + 1)

#define LOOKS		100		/* awake, before the first sleep */
#define SLEEP_NS	1000UL		/* the first sleep */
#define TWICE_MOST	10		/* number of times that the sleep is doubled */

static void (*_Atomic look_around)(void);

/* The number of the calling thread, at its place in a turn. */
static uint64_t self(void)
{
	static _Atomic uint32_t last;
	static _Thread_local uint32_t number;

	if (!number)
		number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	return (uint64_t)number << 2 & WHOSE;
}

/* Has the kernel numbered the op that was given to it? */
static bool is_numbered(const struct shm *s)
{
	return __atomic_load_n(&shm_rank(s, s->me)->posted, __ATOMIC_ACQUIRE) !=
	       atomic_load_explicit(&s->given, memory_order_relaxed);
}

static bool is_free(const struct shm *s, uint64_t turn)
{
	return !(turn & WHOSE) || (turn & GIVEN && is_numbered(s));
}

/* The count of the turn after @turn. */
static uint64_t next(uint64_t turn)
{
	return (turn & ~WHOSE) + COUNT;
}

/* The pause before the next look, longer each time. */
static void pause_once(unsigned int look)
{
	void (*around)(void) = atomic_load_explicit(&look_around, memory_order_acquire);
	unsigned int twice;

	if (look < LOOKS) {
		relax();
		return;
	}
	if (around)
		around();
	twice = look - LOOKS < TWICE_MOST ? look - LOOKS : TWICE_MOST;
	relax_sleep(SLEEP_NS << twice);
}

void shm_turn_look_around(void (*look)(void))
{
	atomic_store_explicit(&look_around, look, memory_order_release);
}

/* Is the time over? It begins with the first call. @until is 0 then. */
static bool is_over(uint64_t timeout_ns, uint64_t *until, unsigned int look)
{
	uint64_t now;

	if (!timeout_ns)
		return false;
	if (!*until) {
		now = relax_now_ns();
		*until = timeout_ns < ~0ULL - now ? now + timeout_ns : ~0ULL;
	}
	return look >= LOOKS && relax_now_ns() > *until;
}

int shm_turn_begin(struct shm *s, uint64_t timeout_ns)
{
	unsigned int look;
	uint64_t until = 0, turn;

	for (look = 0;; look += look < 2 * LOOKS) {
		turn = atomic_load_explicit(&s->turn, memory_order_acquire);
		if (is_free(s, turn)) {
			if (atomic_compare_exchange_strong_explicit(&s->turn, &turn,
								    next(turn) | self() | HERE,
								    memory_order_acquire,
								    memory_order_relaxed))
				return 0;
			continue;
		}
		if ((turn & WHOSE & ~STATES) == self())
			return -EDEADLK;
		if (is_over(timeout_ns, &until, look))
			return -ETIME;
		pause_once(look);
	}
}

/* The calling thread has the turn: no other thread changes it. */
static void set_state(struct shm *s, uint64_t whose)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);

	atomic_store_explicit(&s->turn, (turn & ~WHOSE) | whose, memory_order_release);
}

void shm_turn_end(struct shm *s)
{
	set_state(s, 0);
}

void shm_turn_give(struct shm *s)
{
	atomic_store_explicit(&s->given, __atomic_load_n(&shm_rank(s, s->me)->posted,
							 __ATOMIC_ACQUIRE), memory_order_relaxed);
	set_state(s, self() | GIVEN);
}

static bool is_given(uint64_t turn)
{
	return (turn & WHOSE) == (self() | GIVEN);
}

bool shm_turn_is_given(const struct shm *s)
{
	return is_given(atomic_load_explicit(&s->turn, memory_order_relaxed));
}

void shm_turn_given(struct shm *s)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);

	/* Another thread may have the turn by now. */
	if (is_given(turn))
		atomic_compare_exchange_strong_explicit(&s->turn, &turn, turn & ~WHOSE,
							memory_order_release, memory_order_relaxed);
}

int shm_turn_wait(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	uint64_t until = 0, turn;
	struct shm *s = comm->shm;
	unsigned int look;

	if (!s || !*s->alive || coll_is_message(cmd->collective))
		return 0;
	for (look = 0;; look += look < 2 * LOOKS) {
		turn = atomic_load_explicit(&s->turn, memory_order_acquire);
		/* The op that the caller itself is giving to the kernel may come through here. */
		if (is_free(s, turn) || is_given(turn))
			return 0;
		if ((turn & WHOSE) == (self() | HERE))
			return -EDEADLK;
		if (is_over(cmd->timeout_ns, &until, look))
			return -ETIME;
		pause_once(look);
	}
}
