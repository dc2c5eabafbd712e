/* SPDX-License-Identifier: GPL-2.0 */
/* Tensors that wait, as generic netlink lists them. */
#ifndef COLL_SELFTESTS_STALLS_H
#define COLL_SELFTESTS_STALLS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct stalls_one - a rank that a tensor waits for
 * @name: the tensor
 * @age_ns: of the tensor
 * @state: enum coll_nl_stall_state
 * @rank: that rank
 * @pid: its process
 * @known: it has posted the name before
 */
struct stalls_one {
	char name[256];
	uint64_t age_ns;
	uint32_t state;
	uint32_t rank;
	uint32_t pid;
	uint32_t known;
};

/* A socket that gets events. -1: there is no such family. */
int stalls_open(void);
/*
 * Read the dump, after stalls_open(). Return: how many there are; the first @nr of them are in @s.
 * -1 on errors.
 */
int stalls_dump(struct stalls_one *s, int nr);
/* The sum of an attribute of all groups, COLL_NL_GROUP_*; stalls_open() has been called. */
int64_t stalls_count(int attr);
/*
 * Call @fn with the number of each group as it is read; stalls_open() has been called. Return: how
 * many there are, or -1.
 */
int64_t stalls_groups(void (*fn)(uint32_t id, void *arg), void *arg);
/* Runs of the timers of all groups. */
int64_t stalls_looks(void);
/* The next event. False: there is none within @ms. */
bool stalls_event(int fd, struct stalls_one *s, unsigned int ms);

#endif /* COLL_SELFTESTS_STALLS_H */
