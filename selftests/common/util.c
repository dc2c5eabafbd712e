// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

uint64_t test_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t test_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

int test_become_nobody(unsigned long limit)
{
	struct rlimit rl = { limit, limit };

	if (chmod("/dev/coll", 0666) || setrlimit(RLIMIT_MEMLOCK, &rl))
		return -errno;
	return setgroups(0, NULL) || setgid(65534) || setuid(65534) ? -errno : 0;
}

void test_sleep_us(unsigned int us)
{
	struct timespec ts = {
		.tv_sec = us / 1000000,
		.tv_nsec = us % 1000000 * 1000ULL,
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

uint64_t test_seed(void)
{
	const char *s = getenv("COLL_TEST_SEED");
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &ts);
	seed = s ? strtoull(s, NULL, 0) :
		(ts.tv_sec * 1000000007ULL + ts.tv_nsec) & 0xffffffff;
	printf("# COLL_TEST_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed * 0x9e3779b97f4a7c15ULL | 1;
}

static unsigned int env_number(const char *name, unsigned int def)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : def;
}

unsigned int test_scale(unsigned int n)
{
	unsigned int percent = env_number("COLL_TEST_SCALE", 100);

	n = (uint64_t)n * percent / 100;
	return n ? n : 1;
}

bool test_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	return f && fputs(text, f) >= 0 && !fclose(f);
}

bool test_get(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");

	return f && fgets(text, size, f) && !fclose(f);
}

long test_free_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %ld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

unsigned int test_bound_ms(void)
{
	return env_number("COLL_TEST_BOUND_MS", 2000);
}

bool test_late(uint64_t since, uint64_t when)
{
	int64_t took = when - since, bound = test_bound_ms() * 1000000LL;
	static unsigned int calls, excused;
	static uint64_t event;

	calls++;
	if (took <= bound)
		return false;
	printf("# %lld ms instead of %lld\n", (long long)took / 1000000,
	       (long long)bound / 1000000);
	/* Several ranks hear of one event, some of them with their next call. */
	if (!excused || llabs((int64_t)(since - event)) > bound) {
		event = since;
		excused++;
	}
	return took > 50 * bound || excused > 1 + calls / 20;
}

bool test_remove_group(const char *dir)
{
	int i;

	for (i = 0; i < 100 && rmdir(dir); i++) {
		if (errno != EBUSY)
			return false;
		test_sleep_us(10000);
	}
	return i < 100;
}

void test_wait_count(const volatile uint32_t *counter, uint32_t want)
{
	uint64_t until = test_now_ns() + test_bound_ms() * 50000000ULL;

	while (*counter != want && test_now_ns() < until)
		test_sleep_us(1000);
}

bool test_asleep(pid_t tid)
{
	uint64_t until = test_now_ns() + 10000000000ULL;
	char path[32], line[512];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	do {
		/* The state is behind the name of the program, which is in brackets. */
		state = test_get(path, line, sizeof(line)) ? strrchr(line, ')') : NULL;
		if (state && !strncmp(state, ") S", 3))
			return true;
		test_sleep_us(1000);
	} while (test_now_ns() < until);
	return false;
}

char *test_memory(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

bool test_guard(struct test_guarded *g, size_t bytes, bool high)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t len = (bytes + page - 1) / page * page;

	if (!len)
		len = page;
	g->map_len = len + 2 * page;
	g->map = mmap(NULL, g->map_len, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->map == MAP_FAILED)
		return false;
	if (mprotect(g->map + page, len, PROT_READ | PROT_WRITE))
		return false;
	memset(g->map + page, 0xa5, len);
	g->mem = g->map + page + (high ? len - bytes : 0);
	g->bytes = bytes;
	return true;
}

void test_unguard(struct test_guarded *g)
{
	munmap(g->map, g->map_len);
}

size_t test_guard_hurt(const struct test_guarded *g)
{
	size_t page = sysconf(_SC_PAGESIZE);
	const uint8_t *p = g->map + page, *end = g->map + g->map_len - page;
	size_t hurt = 0;

	for (; p < end; p++)
		if (p < g->mem || p >= g->mem + g->bytes)
			hurt += *p != 0xa5;
	return hurt;
}

int32_t test_value(uint32_t rank, uint64_t i)
{
	return (int32_t)((rank + 1) * 1000003U + i * 7919U);
}

int32_t test_value_sum(uint32_t size, uint64_t i)
{
	uint32_t sum = 0, r;

	for (r = 0; r < size; r++)
		sum += (uint32_t)test_value(r, i);
	return (int32_t)sum;
}

#define GOOD_COUNT 300

int test_good(struct raw_comm *c)
{
	static int32_t in[RAW_MAX][GOOD_COUNT], out[RAW_MAX][GOOD_COUNT];
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX];
	int ret, wrong = 0;
	uint32_t r, i;

	for (r = 0; r < c->size; r++) {
		for (i = 0; i < GOOD_COUNT; i++)
			in[r][i] = test_value(r, i);
		memset(out[r], 0xff, sizeof(out[r]));
		raw_allreduce(&cmds[r], in[r], out[r], GOOD_COUNT, COLL_I32,
			      COLL_OP_SUM);
		cmds[r].timeout_ns = 10000000000ULL;
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < c->size; r++) {
		if (!ret)
			ret = results[r];
		for (i = 0; i < GOOD_COUNT; i++)
			wrong += out[r][i] != test_value_sum(c->size, i);
	}
	return ret ? ret : wrong;
}

int64_t test_posted(struct raw_comm *c, uint32_t r)
{
	struct coll_status s;
	int ret = raw_status(c->fd[r], &s);

	return ret ? ret : (int64_t)s.posted;
}
