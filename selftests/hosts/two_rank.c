// SPDX-License-Identifier: GPL-2.0
/*
 * two_rank OPS [COMMAND]: a rank of allreduces of 16 MiB. Each call's buffers are
 * overwritten as soon as it has returned: what the network has still to send, or to
 * send again, must not be read from there. The ranks take turns at looking at every
 * element of the result; the one that looks overwrites its input only. COMMAND runs
 * before the communicator is left. With OPS 0 it goes on until an op fails, and says
 * when each is done, and how the last one ended.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <coll/coll.h>

#define COUNT	((size_t)4 << 20)
#define BYTES	(COUNT * sizeof(float))

static coll_comm_t *comm;
static uint32_t me, size;

/* Whole numbers, so that sums of some dozens are exact. */
static float element(uint32_t n, uint32_t rank, uint32_t i)
{
	return (float)(((n * 2654435761U) ^ (i * 40503U + rank * 977U)) >> 13);
}

static int look(uint32_t n, const float *out)
{
	uint32_t i, r;
	float sum;

	for (i = 0; i < COUNT; i++) {
		for (r = 0, sum = 0; r < size; r++)
			sum += element(n, r, i);
		if (out[i] != sum) {
			fprintf(stderr, "rank %u: op %u: element %u is %g, not %g\n",
				me, n, i, out[i], sum);
			return 1;
		}
	}
	return 0;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void say_failure(uint32_t n, int err, long ms)
{
	struct coll_status st;
	char cause[256] = "";

	if (!coll_comm_status(comm, &st))
		coll_cause_str(&st.cause, cause, sizeof(cause));
	printf("rank %u: op %u failed after %ld ms: %s; first: %s\n", me, n, ms,
	       strerrorname_np(-err), cause);
}

/* Half of the ring's bytes are sent from the input, the others from the output. */
static int reduce(uint32_t n, float *in, float *out, bool in_place)
{
	long start = now_ms();
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE,
		.op = COLL_OP_SUM,
		.dtype = COLL_F32,
		.count = COUNT,
		.algorithm = COLL_ALG_RING,
		.flags = in_place ? COLL_CMD_INPLACE : 0,
		.send_addr = in_place ? 0 : (uintptr_t)in,
		.recv_addr = (uintptr_t)out,
	};
	int ret = coll_submit(comm, &cmd);

	if (ret)
		say_failure(n, ret, now_ms() - start);
	return ret;
}

static int check(uint32_t n, float *in, float *out)
{
	bool in_place = n % 3 == 1;
	float *from = in_place ? out : in;
	uint32_t i;
	int ret;

	for (i = 0; i < COUNT; i++)
		from[i] = element(n, me, i);
	ret = reduce(n, in, out, in_place);
	memset(in, 0xa5, BYTES);
	if (n % size != me)
		memset(out, 0xa5, BYTES);
	return ret || (n % size == me && look(n, out));
}

static int until_failure(float *in, float *out)
{
	uint32_t n;

	for (n = 0; !reduce(n, in, out, false); n++)
		printf("rank %u: op %u is done\n", me, n);
	return 1;
}

static float *buffer(void)
{
	float *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	memset(p, 0, BYTES);
	return p;
}

int main(int argc, char **argv)
{
	uint32_t ops = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	float *in = buffer(), *out = buffer();
	int ret = coll_init(NULL, &comm), bad = 0;
	uint32_t n;

	if (ret) {
		fprintf(stderr, "coll_init: %s\n", coll_strerror(ret));
		return 1;
	}
	setlinebuf(stdout);
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (!ops)
		return until_failure(in, out);
	for (n = 0; n < ops && !bad; n++)
		bad = check(n, in, out);
	if (!bad && argc > 2)
		bad = system(argv[2]) != 0;
	/* nobody's command runs when others have left */
	if (!bad)
		bad = coll_barrier(comm) != 0;
	coll_finalize(comm);
	if (!bad)
		printf("rank %u: %u ops of %zu bytes, all right\n", me, ops, BYTES);
	return bad;
}
