/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that wait for what the ranks write to their shared memory. */
#ifndef SHM_SLEEPER_H
#define SHM_SLEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "shm.h"
#include "util.h"

#define MS	1000000ULL
#define SECOND	(1000 * MS)

/* Say that the rank has come to @pos. */
static inline void put_pos(const struct view *v, uint64_t pos)
{
	const struct coll_shm_header *h = header(v);
	struct coll_shm_slot *slot;

	slot = (void *)(v->own + h->slot_offset + pos % COLL_SHM_SLOTS * h->slot_size);
	__atomic_store_n(&slot->pos, pos, __ATOMIC_SEQ_CST);
}

/**
 * struct sleeper - a thread in COLL_IOC_SHM_WAIT
 * @thread: the thread
 * @tid: its number; 0: it has not begun
 * @fd: the file of the rank
 * @pos: it waits until all ranks have come there
 * @timeout_ns: deadline; 0: none
 * @result: of the call; 1: it has not returned
 */
struct sleeper {
	pthread_t thread;
	atomic_int tid;
	int fd;
	uint64_t pos, timeout_ns;
	atomic_int result;
};

static inline void *sleep_thread(void *arg)
{
	struct sleeper *s = arg;

	s->tid = syscall(SYS_gettid);
	s->result = shm_wait(s->fd, s->pos, s->timeout_ns);
	return NULL;
}

/* Wait until the thread sleeps. Return: does it? */
static inline bool sleep_begin(struct sleeper *s, int fd, uint64_t pos, uint64_t timeout_ns)
{
	*s = (struct sleeper){ .fd = fd, .pos = pos, .timeout_ns = timeout_ns, .result = 1 };
	pthread_create(&s->thread, NULL, sleep_thread, s);
	while (!s->tid)
		test_sleep_us(200);
	return test_asleep(s->tid);
}

/* Wait until the sleep has ended. Return: its result; 1 if it has not ended after 20 seconds. */
static inline int sleep_end(struct sleeper *s)
{
	uint64_t start = test_now_ns();

	while (s->result == 1 && test_now_ns() - start < 20 * SECOND)
		test_sleep_us(1000);
	if (s->result == 1)
		return 1;
	pthread_join(s->thread, NULL);
	return s->result;
}

#endif /* SHM_SLEEPER_H */
