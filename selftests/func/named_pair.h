/* SPDX-License-Identifier: GPL-2.0 */
/* Two ranks that post one named allreduce. */
#ifndef NAMED_PAIR_H
#define NAMED_PAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "harness.h"
#include "raw.h"

#define SECOND	1000000000ULL
#define MS	1000000ULL

/**
 * struct pair - two ranks and one tensor of each
 * @c: the communicator
 * @cmd: command of each rank
 * @t: tensor of each rank
 * @in: inputs
 * @out: results
 */
struct pair {
	struct raw_comm c;
	struct coll_cmd cmd[2];
	struct coll_tensor t[2];
	int32_t in[2][8192], out[2][8192];
};

static inline int pair_start(struct pair *p, uint32_t nodes)
{
	memset(p, 0, sizeof(*p));
	return raw_start_named(&p->c, 2, nodes);
}

static inline void pair_make(struct pair *p, const char *name, uint64_t count)
{
	uint32_t r;

	for (r = 0; r < 2; r++) {
		p->in[r][0] = r + 1;
		p->out[r][0] = 0;
		raw_allreduce(&p->cmd[r], p->in[r], p->out[r], count, COLL_I32, COLL_OP_SUM);
		raw_tensor(&p->t[r], name, &p->cmd[r], 70 + r);
	}
}

/* Rank @r gets exactly one result, and it is @error. */
static inline void expect_result(struct __test_metadata *_metadata, struct pair *p, uint32_t r,
				 int error, struct coll_tensor_result *res)
{
	struct coll_tensor_result more;

	ASSERT_EQ(1, raw_collect(p->c.fd[r], res, 1, 1, 20 * SECOND)) {
		TH_LOG("rank %u", r);
	}
	EXPECT_EQ(error, -res->result);
	EXPECT_EQ(70 + r, res->tag);
	EXPECT_EQ(0, raw_collect(p->c.fd[r], &more, 1, 0, 0));
}

/* The communicator has not failed. */
static inline bool pair_alive(struct pair *p)
{
	struct coll_status s;
	uint32_t r;

	for (r = 0; r < 2; r++)
		if (raw_status(p->c.fd[r], &s) || s.state == COLL_STATE_FAILED)
			return false;
	return true;
}

/* Both ranks post @name; both get the sum, and the communicator has not failed. */
static inline void expect_sum(struct __test_metadata *_metadata, struct pair *p, const char *name)
{
	struct coll_tensor_result res;
	uint32_t r;

	pair_make(p, name, 3);
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, raw_post(p->c.fd[r], &p->t[r], 1, NULL));
	for (r = 0; r < 2; r++) {
		expect_result(_metadata, p, r, 0, &res);
		EXPECT_EQ(COLL_BAD_NONE, res.cause);
		EXPECT_EQ(3, p->out[r][0]);
	}
	EXPECT_TRUE(pair_alive(p));
}

#endif /* NAMED_PAIR_H */
