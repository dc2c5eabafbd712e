/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranks as processes, which can be killed: forked, joined and linked each by itself. They leave
 * their results in memory shared with the parent.
 */
#ifndef COLL_SELFTESTS_PROCS_H
#define COLL_SELFTESTS_PROCS_H

#include <sys/types.h>

#include "raw.h"

#define PROCS_MAX	8

enum procs_phase {
	PROCS_BORN,
	PROCS_JOINED,
	PROCS_RUNNING,	/* all ranks have joined */
	PROCS_ENDED,	/* the first error, or all ops done */
};

/**
 * struct procs_rank - what one rank leaves for the parent
 * @phase: how far it has come
 * @result: of its last op
 * @done: ops that ended well
 * @wrong: wrong elements in them
 * @when: time the last result came, ns
 * @asked: time of the last call into the kernel, ns, if @ops sets it; what a rank does before
 *	it is its own affair
 * @status: taken right then
 */
struct procs_rank {
	volatile uint32_t phase;
	volatile int32_t result;
	volatile uint64_t done;
	volatile uint64_t wrong;
	volatile uint64_t when;
	volatile uint64_t asked;
	struct coll_status status;
};

/**
 * struct procs_shared - seen by all
 * @go: ranks wait for it after joining
 * @quit: ranks that have ended wait for it, so that nobody exits early
 * @rank: each one's
 */
struct procs_shared {
	volatile uint32_t go;
	volatile uint32_t quit;
	struct procs_rank rank[PROCS_MAX];
};

/**
 * struct procs - a job
 * @c: plan; c.fd belongs to the rank in its process
 * @pid: 0: ended and waited for
 * @socks: [a][b][stripe]: a's end of the pair with b
 * @sh: shared memory
 * @ops: what the ranks run, in the child: called when all have joined, to be
 *	left when it returns
 * @arg: for @ops
 * @early: ranks may post as soon as they have joined themselves
 * @links: between two nodes; 0: one
 * @flags: of joins
 * @least: bytes for which a further link is used; 0: the kernel chooses
 */
struct procs {
	struct raw_comm c;
	pid_t pid[PROCS_MAX];
	int socks[PROCS_MAX][PROCS_MAX][COLL_MAX_STRIPES];
	struct procs_shared *sh;
	void (*ops)(struct procs *p, uint32_t rank);
	void *arg;
	bool early;
	uint32_t links;
	uint32_t flags;
	uint64_t least;
};

/* Fork the ranks. Return: 0 or -errno. */
int procs_start(struct procs *p, uint32_t size, uint32_t nodes);
/* Wait until all have come to @phase, or died. Return: false after @ms. */
bool procs_wait(struct procs *p, uint32_t phase, unsigned int ms);
/* Kill what is left, wait for all, free. */
void procs_stop(struct procs *p);
/* Wait for one rank's process. Return: wait status, or -1 after @ms. */
int procs_reap(struct procs *p, uint32_t rank, unsigned int ms);

/* Return: when rank @k could first hear of an event: at its time @since, or with its next call. */
uint64_t procs_asked_after(const struct procs_rank *k, uint64_t since);

/* In the child: record a result, with time and status. */
void procs_result(struct procs *p, uint32_t rank, int result);

/**
 * struct procs_stream - arg for procs_ops_stream()
 * @seed: of the stream: all ranks draw the same collectives
 * @max_bytes: of a vector
 * @uring: commands in flight at once by io_uring; 0: ioctl
 * @count: ops to do; 0: until something fails
 * @timeout_ns: deadline of each
 */
struct procs_stream {
	uint64_t seed;
	uint64_t max_bytes;
	uint32_t uring;
	uint64_t count;
	uint64_t timeout_ns;
};

/* Random collectives, all results verified, until the first error. */
void procs_ops_stream(struct procs *p, uint32_t rank);

#endif /* COLL_SELFTESTS_PROCS_H */
