// SPDX-License-Identifier: GPL-2.0
/* Fusions as large as user space may ask for need no more memory than there may be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "raw.h"
#include "stalls.h"
#include "util.h"

#define MOST	64

static const struct shape {
	uint32_t nodes, nr;
	unsigned int dtype, op, size, algorithm;
	uint64_t count;
} shapes[] = {
	/* Partial results of exact sums are large, but on one node there are none. */
	{ 1, 2, COLL_F64, COLL_OP_SUM_EXACT, 8, COLL_ALG_AUTO, 600000 },
	/* Each step of recursive doubling has a vector of f32. */
	{ 2, MOST, COLL_F16, COLL_OP_SUM, 2, COLL_ALG_RECURSIVE_DOUBLING, 128 << 10 },
	{ 2, MOST, COLL_F8E5M2, COLL_OP_SUM, 1, COLL_ALG_RECURSIVE_DOUBLING, 128 << 10 },
};

static int post_all(const struct raw_comm *c, const struct shape *s, uint8_t *in, uint8_t *out)
{
	uint64_t bytes = s->count * s->size;
	struct coll_tensor t[MOST];
	struct coll_cmd cmd[MOST];
	char name[MOST][16];
	uint32_t r, i;
	int ret = 0;

	for (r = 0; r < c->size && !ret; r++) {
		for (i = 0; i < s->nr; i++) {
			raw_allreduce(&cmd[i], in + i * bytes, out + (r * s->nr + i) * bytes,
				      s->count, s->dtype, s->op);
			cmd[i].algorithm = s->algorithm;
			snprintf(name[i], sizeof(name[i]), "t%u", i);
			raw_tensor(&t[i], name[i], &cmd[i], i);
		}
		ret = raw_post(c->fd[r], t, s->nr, NULL);
	}
	return ret;
}

static void fuse(struct __test_metadata *_metadata, const struct shape *s)
{
	struct coll_tensor_fuse f = { .threshold = COLL_TENSOR_FUSE_BYTES };
	uint64_t all = s->nr * s->count * s->size;
	struct coll_status status;
	struct raw_comm c;
	uint8_t *in, *out;
	uint32_t r, n = s->nodes > 1 ? s->nodes : 2;

	in = calloc(1, all);
	out = malloc(n * all);
	ASSERT_TRUE(in && out);
	ASSERT_EQ(0, raw_start_named(&c, n, s->nodes));
	for (r = 0; r < n; r++)
		ASSERT_EQ(0, ioctl(c.fd[r], COLL_IOC_TENSOR_FUSE, &f));
	ASSERT_EQ(0, post_all(&c, s, in, out));
	EXPECT_EQ(0, raw_collect_all(&c, s->nr));
	EXPECT_LT(0, stalls_count(COLL_NL_GROUP_FUSED));
	for (r = 0; r < n; r++)
		EXPECT_EQ(0, memcmp(in, out + r * all, all));
	ASSERT_EQ(0, raw_status(c.fd[0], &status));
	EXPECT_EQ(COLL_STATE_READY, status.state);
	raw_stop(&c);
	free(in);
	free(out);
}

TEST(one_node)		{ stalls_open(); fuse(_metadata, &shapes[0]); }
TEST(with_links)	{ stalls_open(); fuse(_metadata, &shapes[1]); }
TEST(small_types)	{ stalls_open(); fuse(_metadata, &shapes[2]); }

TEST_HARNESS_MAIN
