/* SPDX-License-Identifier: GPL-2.0 */
/* Tools for all test programs: random numbers, clocks, bounds, guarded memory. */
#ifndef COLL_SELFTESTS_UTIL_H
#define COLL_SELFTESTS_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rand.h"
#include "raw.h"

/* COLL_TEST_SEED, or one made up now; printed. Never 0. */
uint64_t test_seed(void);

/*
 * Make this process one of the user nobody (65534), who may lock @limit bytes, for the rest of its
 * life. Every user may open /dev/coll then. Return: 0 or -errno.
 */
int test_become_nobody(unsigned long limit);

/* Loops to do where @n are wanted on a fast kernel: COLL_TEST_SCALE percent. */
unsigned int test_scale(unsigned int n);
/* Milliseconds in which a fault must have shown: COLL_TEST_BOUND_MS. */
unsigned int test_bound_ms(void);

/**
 * test_late() - has it taken longer than a fault may?
 * @since: when it happened, as test_now_ns()
 * @when: when it showed
 *
 * A virtual machine may stop for a moment. So one late event of a test is excused, and one more
 * for each 20 calls, unless it takes more than 50 times the bound. Late events are printed.
 * Return: true for a late event that is not excused.
 */
bool test_late(uint64_t since, uint64_t when);

/* Remove a control group: its last process may leave it some time after it has been waited for. */
bool test_remove_group(const char *dir);

/* Wait until a counter is @want, 50 times as long as a fault may take at most. */
void test_wait_count(const volatile uint32_t *counter, uint32_t want);
/* Wait until a thread sleeps, ten seconds at most. @tid: of any process. Return: it does. */
bool test_asleep(pid_t tid);

/* Write a line of text to a file of the kernel. */
bool test_put(const char *path, const char *text);
/* Read the first line of such a file. */
bool test_get(const char *path, char *text, size_t size);
/* KiB of memory that are free, or -1. */
long test_free_kib(void);

/* Communicators that one user may have. */
#define TEST_MAX_GROUPS	"/sys/module/coll/parameters/max_groups"
#define TEST_DEAD_AFTER	"/sys/module/coll/parameters/dead_after"

/* Monotonic. */
uint64_t test_now_ns(void);
/* CPU time of the calling thread. */
uint64_t test_cpu_ns(void);
void test_sleep_us(unsigned int us);

/**
 * struct test_guarded - memory that ends at, and begins behind, a PROT_NONE page
 * @mem: @bytes of it, ending exactly at the upper guard if @high
 */
struct test_guarded {
	uint8_t *map;
	size_t map_len;
	uint8_t *mem;
	size_t bytes;
};

bool test_guard(struct test_guarded *g, size_t bytes, bool high);
void test_unguard(struct test_guarded *g);
/* New memory of the process. Return: as mmap(). */
char *test_memory(size_t bytes);

/* Bytes of the page rest around @mem that are not 0xa5 any more. */
size_t test_guard_hurt(const struct test_guarded *g);

/* i32 input of a rank, and the sum over all. */
int32_t test_value(uint32_t rank, uint64_t i);
int32_t test_value_sum(uint32_t size, uint64_t i);

/* A small allreduce on all ranks. Return: 0, -errno, or wrong elements. */
int test_good(struct raw_comm *c);
/* Number of commands that rank @r has posted, or -errno. */
int64_t test_posted(struct raw_comm *c, uint32_t r);

#endif /* COLL_SELFTESTS_UTIL_H */
