/* SPDX-License-Identifier: GPL-2.0 */
/* Another user, which uses all that it may, to disturb ours. */
#ifndef COLL_SELFTESTS_OTHER_H
#define COLL_SELFTESTS_OTHER_H

#include <stdint.h>
#include <sys/types.h>

/**
 * struct other - a process that holds something until it is told to end
 * @pid: 0: none
 * @ready: it writes a byte when it has begun
 * @stop: it ends when this is closed
 */
struct other {
	pid_t pid;
	int ready;
	int stop;
};

/**
 * other_start() - run @begin in a process of its own
 * @o: result
 * @begin: in the child; returns 0 when all is under way, and leaves it so
 * @arg: for @begin
 *
 * Return: 0 when @begin has returned 0; else what it returned, or -errno.
 */
int other_start(struct other *o, int (*begin)(void *arg), void *arg);

/* End it, by SIGKILL, and wait for it. */
void other_stop(struct other *o);

/*
 * Put the calling process into the control group /sys/fs/cgroup/@name, made if need be,
 * with @value in @file. Return: 0 or -errno.
 */
int other_enter_cgroup(const char *name, const char *file, const char *value);

/* A number in a file of /sys/fs/cgroup/@name; -1: cannot be read. */
int64_t other_cgroup_number(const char *name, const char *file);

/*
 * The time that a computing loop takes, in percent of the CPU time that it gets: the least
 * of a few runs. 100 means that nobody else ran on its CPU. The scheduler counts both,
 * so it makes no difference that the host of a virtual machine takes CPU time away.
 */
unsigned int other_loop_percent(void);

/*
 * A communicator of two ranks, one of which is not there, and a barrier with a deadline.
 * Return: nanoseconds until -ETIMEDOUT, the first of ten times that is within the bound of a fault,
 * or the least of them: what the host of a virtual machine does can make some late; 0 for another
 * result.
 */
uint64_t other_time_deadline(uint64_t timeout_ns);

#endif /* COLL_SELFTESTS_OTHER_H */
