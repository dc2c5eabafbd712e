// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <pthread.h>

#include "base/relax.h"
#include "collective.h"
#include "comm.h"
#include "shm.h"
#include "shm_turn.h"

/* The state of a turn, beside the thread that has it. */
#define HERE	1U		/* it does its op in shared memory */
#define GIVEN	2U		/* it gives its op to the kernel */
#define STATES	(HERE | GIVEN)

#define LOOKS		100		/* awake, before the first sleep */
#define SLEEP_NS	1000UL		/* the first sleep */
#define TWICE_MOST	10		/* number of times that the sleep is doubled */

/* A number of the calling thread, which leaves the bits of the state free. */
static uintptr_t self(void)
{
	return (uintptr_t)pthread_self() & ~(uintptr_t)STATES;
}

/* Has the kernel numbered the op that was given to it? */
static bool is_numbered(const struct shm *s)
{
	return __atomic_load_n(&shm_rank(s, s->me)->posted, __ATOMIC_ACQUIRE) !=
	       atomic_load_explicit(&s->given, memory_order_relaxed);
}

static bool is_free(const struct shm *s, uintptr_t turn)
{
	return !turn || (turn & GIVEN && is_numbered(s));
}

/* The pause before the next look, longer each time. */
static void pause_once(unsigned int look)
{
	unsigned int twice;

	if (look < LOOKS) {
		relax();
		return;
	}
	twice = look - LOOKS < TWICE_MOST ? look - LOOKS : TWICE_MOST;
	relax_sleep(SLEEP_NS << twice);
}

int shm_turn_begin(struct shm *s, uint64_t timeout_ns)
{
	uint64_t until = 0;
	unsigned int look;
	uintptr_t turn;

	for (look = 0;; look += look < 2 * LOOKS) {
		turn = atomic_load_explicit(&s->turn, memory_order_acquire);
		if (is_free(s, turn)) {
			if (atomic_compare_exchange_strong_explicit(&s->turn, &turn, self() | HERE,
								    memory_order_acquire,
								    memory_order_relaxed))
				return 0;
			continue;
		}
		if ((turn & ~(uintptr_t)STATES) == self())
			return -EDEADLK;
		if (timeout_ns && !until)
			until = relax_now_ns() + timeout_ns;
		if (until && look >= LOOKS && relax_now_ns() > until)
			return -ETIME;
		pause_once(look);
	}
}

void shm_turn_end(struct shm *s)
{
	atomic_store_explicit(&s->turn, 0, memory_order_release);
}

void shm_turn_give(struct shm *s)
{
	atomic_store_explicit(&s->given, __atomic_load_n(&shm_rank(s, s->me)->posted,
							 __ATOMIC_ACQUIRE), memory_order_relaxed);
	atomic_store_explicit(&s->turn, self() | GIVEN, memory_order_release);
}

bool shm_turn_is_given(const struct shm *s)
{
	return atomic_load_explicit(&s->turn, memory_order_relaxed) == (self() | GIVEN);
}

void shm_turn_given(struct shm *s)
{
	uintptr_t turn = self() | GIVEN;

	/* Another thread may have the turn by now. */
	atomic_compare_exchange_strong_explicit(&s->turn, &turn, 0, memory_order_release,
						memory_order_relaxed);
}

int shm_turn_wait(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	struct shm *s = comm->shm;
	unsigned int look;
	uintptr_t turn;

	if (!s || !*s->alive || coll_is_message(cmd->collective))
		return 0;
	for (look = 0;; look += look < 2 * LOOKS) {
		turn = atomic_load_explicit(&s->turn, memory_order_acquire);
		/* The op that the caller itself is giving to the kernel may come through here. */
		if (is_free(s, turn) || turn == (self() | GIVEN))
			return 0;
		if (turn == (self() | HERE))
			return -EDEADLK;
		pause_once(look);
	}
}
