// SPDX-License-Identifier: GPL-2.0
/*
 * The root of a broadcast may have its vector in memory that it cannot write to: by every
 * algorithm, pinned and through windows. Nobody else may.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "pure/algorithms/table.h"
#include "util.h"

#define SECOND	1000000000ULL
#define MOST	300007UL

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 2, 1 }, { 4, 1 }, { 2, 2 }, { 5, 3 }, { 6, 6 },
};

#define NR_SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

/* Within a slot, around pages, and in many pieces. */
static const size_t counts[] = { 100, 4096, 4097, 70001, MOST };

#define NR_COUNTS	(sizeof(counts) / sizeof(counts[0]))

static void pattern(uint8_t *mem, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		mem[i] = (uint8_t)(i * 31 + (i >> 8) + 5);
}

/* Memory of the process that it has written once. */
static uint8_t *anonymous(void)
{
	uint8_t *mem = (uint8_t *)test_memory(MOST);

	if (mem == MAP_FAILED)
		return NULL;
	pattern(mem, MOST);
	return mprotect(mem, MOST, PROT_READ) ? NULL : mem;
}

/* A file that was opened for reading. */
static uint8_t *file(void)
{
	char name[] = "/var/tmp/coll-XXXXXX";
	static uint8_t bytes[MOST];
	int w = mkstemp(name), r = open(name, O_RDONLY);
	uint8_t *mem = MAP_FAILED;

	pattern(bytes, MOST);
	if (w >= 0 && r >= 0 && write(w, bytes, MOST) == (ssize_t)MOST)
		mem = mmap(NULL, MOST, PROT_READ, MAP_SHARED, r, 0);
	unlink(name);
	close(w);
	close(r);
	return mem == MAP_FAILED ? NULL : mem;
}

/* Return: wrong bytes on all ranks, or -errno. */
static long broadcast(struct raw_comm *c, uint8_t *mem, size_t n, uint32_t root, uint32_t alg)
{
	struct coll_cmd cmds[RAW_MAX];
	uint8_t *into[RAW_MAX], *want = malloc(n);
	int results[RAW_MAX], ret;
	long wrong = 0;
	uint32_t r;
	size_t i;

	pattern(want, n);
	for (r = 0; r < c->size; r++) {
		into[r] = calloc(1, n);
		raw_broadcast(&cmds[r], r == root ? mem : into[r], n, COLL_BYTE, root);
		cmds[r].algorithm = alg;
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < c->size; r++) {
		const uint8_t *got = r == root ? mem : into[r];

		if (!ret)
			ret = results[r];
		for (i = 0; i < n; i++)
			wrong += got[i] != want[i];
		free(into[r]);
	}
	free(want);
	return ret ? ret : wrong;
}

static void each(struct __test_metadata *_metadata, struct raw_comm *c, uint8_t *mem)
{
	const struct coll_algorithm *a = NULL;
	uint32_t i = 0, alg, root;
	size_t n;

	do {
		alg = a ? a->id : COLL_ALG_AUTO;
		for (n = 0; n < NR_COUNTS; n++) {
			root = (i + n) % c->size;
			EXPECT_EQ(0, broadcast(c, mem, counts[n], root, alg)) {
				TH_LOG("%u ranks, %u nodes, %s, %zu bytes, root %u", c->size,
				       c->nodes, a ? a->name : "auto", counts[n], root);
			}
		}
		a = coll_algorithm_of(COLL_BROADCAST, i++);
	} while (a);
}

static void every_shape(struct __test_metadata *_metadata, uint8_t *mem)
{
	struct raw_comm c;
	size_t s;

	if (!mem)
		SKIP(return, "no such memory");
	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		each(_metadata, &c, mem);
		EXPECT_EQ(0, test_good(&c));
		raw_stop(&c);
	}
	munmap(mem, MOST);
}

TEST(from_memory)
{
	every_shape(_metadata, anonymous());
}

TEST(from_a_file)
{
	every_shape(_metadata, file());
}

TEST(from_memory_by_windows)
{
	ASSERT_EQ(0, test_become_nobody(0));
	every_shape(_metadata, anonymous());
}

TEST(from_a_file_by_windows)
{
	uint8_t *mem = file();

	ASSERT_EQ(0, test_become_nobody(0));
	every_shape(_metadata, mem);
}

/* The same pages as source, as target and as source again: a pin that is kept is of no use then. */
TEST(turns)
{
	uint8_t *mem = anonymous();
	struct coll_cmd cmds[2];
	int results[2];
	struct raw_comm c;

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, raw_start(&c, 2, 1));
	EXPECT_EQ(0, broadcast(&c, mem, MOST, 0, COLL_ALG_AUTO));
	ASSERT_EQ(0, mprotect(mem, MOST, PROT_READ | PROT_WRITE));
	memset(mem, 0, MOST);
	raw_broadcast(&cmds[0], mem, MOST, COLL_BYTE, 1);
	cmds[1] = cmds[0];
	cmds[1].recv_addr = (uintptr_t)file();
	ASSERT_EQ(0, raw_all(&c, cmds, results));
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(0, results[1]);
	ASSERT_EQ(0, mprotect(mem, MOST, PROT_READ));
	EXPECT_EQ(0, broadcast(&c, mem, MOST, 0, COLL_ALG_AUTO));
	raw_stop(&c);
}

/* The command is refused, and does not count. */
TEST(not_a_target)
{
	uint8_t *mem[2] = { anonymous(), file() };
	struct coll_cmd cmd;
	struct raw_comm c;
	size_t n, k;

	ASSERT_EQ(0, raw_start(&c, 2, 1));
	for (k = 0; k < 2; k++) {
		for (n = 0; n < NR_COUNTS && mem[k]; n++) {
			raw_broadcast(&cmd, mem[k], counts[n], COLL_BYTE, 0);
			EXPECT_EQ(-EFAULT, raw_submit(c.fd[1], &cmd));
		}
	}
	EXPECT_EQ(0, test_posted(&c, 1));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

TEST_HARNESS_MAIN
