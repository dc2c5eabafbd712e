// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* A rank waits for the slots of the other ranks: awake, then asleep in the kernel. */
#include <errno.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "base/relax.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "shm_move.h"
#include "shm_op.h"
#include "shm_wait.h"

/* COLL_CMD_SPIN: microseconds of looking before a sleep. */
#define LONG_SPIN_US	1000
/* With several ranks for each CPU, at least: some switches of context. */
#define SHORT_YIELD_US	20

static enum shm_outcome spin(const struct shm *s, struct shm_op *o, const struct shm_move *m,
			     uint64_t spins)
{
	enum shm_outcome what = SHM_LATE;

	while (what == SHM_LATE && spins--) {
		if (m->copy.early)
			shm_op_copy(s, m, o);
		relax();
		what = shm_op_look(s, o);
	}
	return what;
}

/*
 * Yield the CPU to other ranks, for @ns at most. If it comes back later than that, a thread that is
 * busy with other work had it.
 */
static enum shm_outcome yield(const struct shm *s, struct shm_op *o, uint64_t ns)
{
	uint64_t end = relax_now_ns() + ns;
	enum shm_outcome what;

	do {
		sched_yield();
		what = shm_op_look(s, o);
	} while (what == SHM_LATE && relax_now_ns() < end);
	return what;
}

enum shm_outcome shm_wait_awake(const struct shm *s, struct shm_op *o, const struct shm_move *m)
{
	bool longer = m->cmd->flags & COLL_CMD_SPIN;
	enum shm_outcome what = shm_op_look(s, o);
	uint64_t us;

	if (what != SHM_LATE || (s->crowd > SHM_CROWD_MOST && !longer))
		return what;
	if (s->crowd <= 1 || s->crowd > SHM_CROWD_MOST)
		return spin(s, o, m, longer ? LONG_SPIN_US * s->looks_per_us :
			    s->spins >> s->doubts);
	us = longer ? LONG_SPIN_US : s->h->spin_us > SHORT_YIELD_US ? s->h->spin_us : SHORT_YIELD_US;
	return yield(s, o, us * 1000 * s->crowd);
}

void shm_wait_announce(const struct shm *s, const struct shm_op *o)
{
	uint64_t *sleeps = (uint64_t *)&shm_own_area(s)->sleeps;
	uint64_t was = __atomic_load_n(sleeps, __ATOMIC_RELAXED);

	/* Another thread of this rank may sleep for a later op already. */
	while (was < o->pos && !__atomic_compare_exchange_n(sleeps, &was, o->pos, false,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	/* Pairs with shm_op_write(): the last rank sees ->sleeps, or the kernel sees its slot. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void shm_wait_end(const struct shm *s, const struct shm_op *o)
{
	uint64_t was = o->pos;

	/* Another thread may have begun to sleep for a later op. */
	__atomic_compare_exchange_n((uint64_t *)&shm_own_area(s)->sleeps, &was, 0, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int shm_wait_asleep(coll_comm_t *comm, struct shm_op *o, uint64_t ns, uint64_t flags)
{
	struct coll_shm_wait w = {
		.pos = o->pos, .posted = o->posted, .timeout_ns = ns, .flags = flags,
	};
	int ret;

	shm_wait_announce(comm->shm, o);
	ret = ioctl(comm->fd, COLL_IOC_SHM_WAIT, &w) && errno != EINTR && errno != ETIME ?
	      -errno : 0;
	shm_wait_end(comm->shm, o);
	/* The kernel looks at all slots, and a rank may have changed its own. */
	o->next = 0;
	return ret;
}
