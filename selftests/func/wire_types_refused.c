// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that ask for different types on the wire get an error that says so. Commands that cannot
 * be sent as f16 or bf16 are refused.
 */
#include <errno.h>

#include "wire_types.h"

static struct {
	struct coll_cmd cmd[2];
	struct coll_tensor t[2];
	float in[2][10], out[2][10];
} w;

TEST(ranks_that_disagree)
{
	struct coll_tensor_result res;
	struct coll_cmd cmds[2];
	int results[2];
	struct raw_comm c;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&c, 2, nodes));
		for (k = 0; k < 3; k++) {
			for (r = 0; r < 2; r++) {
				raw_allreduce(&w.cmd[r], w.in[r], w.out[r], 10, COLL_F32,
					      COLL_OP_SUM);
				w.cmd[r].flags |= r || k == 2 ? wires[k % 2] : 0;
				if (!r && k == 1)
					w.cmd[r].flags |= COLL_CMD_WIRE_F16;
				raw_tensor(&w.t[r], "x", &w.cmd[r], 0);
				ASSERT_EQ(0, raw_post(c.fd[r], &w.t[r], 1, NULL));
			}
			for (r = 0; r < 2; r++) {
				ASSERT_EQ(1, raw_collect(c.fd[r], &res, 1, 1, 20 * SECOND));
				EXPECT_EQ(k == 2 ? 0 : -EBADE, res.result);
				if (k == 2)
					continue;
				EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
				EXPECT_EQ(COLL_FIELD_WIRE, res.field);
				EXPECT_EQ(1, res.rank[0] + res.rank[1]);
				EXPECT_EQ(k ? COLL_BF16 : COLL_F16, res.value[res.rank[1]]);
				EXPECT_EQ(k ? COLL_F16 : 0, res.value[!res.rank[1]]);
			}
		}
		raw_stop(&c);
		/* With numbered collectives, the communicator fails. */
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, raw_start(&c, 2, nodes));
			for (r = 0; r < 2; r++) {
				raw_allreduce(&cmds[r], in[r], out[r], 10, COLL_F32, COLL_OP_SUM);
				cmds[r].flags |= r ? wires[k] : k ? COLL_CMD_WIRE_F16 : 0;
			}
			raw_all(&c, cmds, results);
			EXPECT_TRUE(results[0] == -EBADE || results[1] == -EBADE);
			EXPECT_NE(0, results[0]);
			EXPECT_NE(0, results[1]);
			raw_stop(&c);
		}
	}
}

TEST(refused)
{
	static const uint16_t no_ops[] = {
		COLL_OP_PROD, COLL_OP_SUM_EXACT, COLL_OP_REPLACE, COLL_OP_NO_OP,
	};
	static const uint16_t no_algorithms[] = {
		COLL_ALG_RECURSIVE_DOUBLING, COLL_ALG_KNOMIAL, COLL_ALG_MESH_FULL,
		COLL_ALG_KNOMIAL | COLL_ALG_RADIX(3),
	};
	static const uint16_t no_types[] = { COLL_F64, COLL_F16, COLL_BF16, COLL_I32, COLL_C32 };
	struct raw_comm c;
	struct coll_cmd cmd;
	size_t k;

	ASSERT_EQ(0, raw_start(&c, 1, 1));
	for (k = 0; k < NR(no_ops); k++) {
		raw_allreduce(&cmd, in[0], out[0], 4, COLL_F32, no_ops[k]);
		cmd.flags |= COLL_CMD_WIRE_F16;
		EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	}
	for (k = 0; k < NR(no_algorithms); k++) {
		raw_allreduce(&cmd, in[0], out[0], 4, COLL_F32, COLL_OP_SUM);
		cmd.algorithm = no_algorithms[k];
		EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
		cmd.flags |= COLL_CMD_WIRE_BF16;
		EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	}
	for (k = 0; k < NR(no_types); k++) {
		raw_allreduce(&cmd, in[0], out[0], 4, no_types[k], COLL_OP_SUM);
		cmd.flags |= COLL_CMD_WIRE_F16;
		EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	}
	raw_allreduce(&cmd, in[0], out[0], 4, COLL_F32, COLL_OP_SUM);
	cmd.flags |= COLL_CMD_WIRE;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	raw_broadcast(&cmd, out[0], 4, COLL_F32, 0);
	cmd.flags |= COLL_CMD_WIRE_F16;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	raw_barrier(&cmd);
	cmd.flags |= COLL_CMD_WIRE_F16;
	EXPECT_EQ(-EINVAL, raw_submit(c.fd[0], &cmd));
	/* A valid command still works. */
	in[0][0] = 1.0f + ldexpf(1, -20);
	raw_allreduce(&cmd, in[0], out[0], 1, COLL_F32, COLL_OP_MAX);
	cmd.flags |= COLL_CMD_WIRE_F16;
	EXPECT_EQ(0, raw_submit(c.fd[0], &cmd));
	EXPECT_EQ(1.0f, out[0][0]);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
