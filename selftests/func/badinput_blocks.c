// SPDX-License-Identifier: GPL-2.0
/* v-forms whose blocks overlap, or are no memory of the user's. */
#include <string.h>

#include "badinput.h"

static uint64_t counts[4], displs[4];

/* A v-form: two blocks with gaps. alltoallv has two more, for the output. */
static void use_blocks(struct coll_cmd *cmd, uint32_t kind, const void *in, void *out)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		counts[i] = 100;
		displs[i] = 200 * (i % 2) + 100 * (i / 2);
	}
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = kind;
	cmd->dtype = COLL_I32;
	cmd->send_addr = (uintptr_t)in;
	cmd->recv_addr = (uintptr_t)out;
	cmd->counts_addr = (uintptr_t)counts;
	cmd->displs_addr = (uintptr_t)displs;
	cmd->timeout_ns = SECOND / 2;
}

#define BLOCKS_REFUSED(error, kind, change) \
	REFUSED(error, use_blocks(&cmd, kind, self->in, self->out); change)

/* Blocks that overlap, or are no memory of the user's, are refused wherever they lie. */
TEST_F(bad, blocks)
{
	static const uint32_t out[] = { COLL_ALLGATHERV, COLL_GATHERV };
	uintptr_t in = (uintptr_t)self->in;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		BLOCKS_REFUSED(EINVAL, out[i], displs[1] = 0);
		BLOCKS_REFUSED(EINVAL, out[i], displs[1] = 99);
		BLOCKS_REFUSED(EINVAL, out[i], displs[0] = 299);
		BLOCKS_REFUSED(EINVAL, out[i], displs[0] = 150; counts[0] = 300; counts[1] = 1);
		/* The input overlaps a block, but does not lie exactly in it. */
		BLOCKS_REFUSED(EINVAL, out[i], cmd.recv_addr = in - 200 * 4 + 4);
		BLOCKS_REFUSED(EINVAL, out[i], cmd.recv_addr = in + 99 * 4);
		BLOCKS_REFUSED(EINVAL, out[i], displs[0] = 1ULL << 62);
		BLOCKS_REFUSED(EINVAL, out[i], displs[1] = ~0ULL);
		BLOCKS_REFUSED(EINVAL, out[i], counts[1] = 1ULL << 62);
		BLOCKS_REFUSED(EINVAL, out[i], counts[1] = 1ULL << 37);
		BLOCKS_REFUSED(EFAULT, out[i], displs[1] = ~0ULL / 4 - 100);
		BLOCKS_REFUSED(EFAULT, out[i], displs[1] = 1ULL << 61);
		BLOCKS_REFUSED(EFAULT, out[i], displs[1] = 1ULL << 45);
	}
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, displs[3] = displs[2] + 99);
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in + 4);
	/* Input and output are in one array: a block of the output overlaps one of the input. */
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in; displs[2] = 99);
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in; displs[2] = 299;
		       displs[3] = 500);
	/* The output begins and ends where the input does, but has other blocks. */
	BLOCKS_REFUSED(EINVAL, COLL_ALLTOALLV, cmd.recv_addr = in; displs[2] = 0; displs[3] = 120;
		       counts[3] = 180);
	BLOCKS_REFUSED(EINVAL, COLL_SCATTERV, cmd.recv_addr = in + 200 * 4 + 4);
	BLOCKS_REFUSED(EFAULT, COLL_SCATTERV, displs[1] = ~0ULL / 4 - 100);
	BLOCKS_REFUSED(EFAULT, COLL_SCATTERV, displs[1] = 1ULL << 45);
}

TEST_HARNESS_MAIN
