// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... shm_unregister_rank: a buffer is unregistered while a call sleeps that uses it.
 *
 * A call of rank 0 sleeps in shared memory. Another thread unregisters the buffer of the call. Then
 * the other ranks come by the kernel, so the call of rank 0 has to go there, too. It must not name
 * the buffer then.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <coll/coll.h>

#include "rank.h"

#define ROUNDS	10
#define FIRST	100	/* until shared memory is in use */
#define N	5

static coll_comm_t *comm;
static int32_t mem[N];
static int result;
static _Atomic int begun;

static uint64_t shm_ops(void)
{
	struct coll_status s = { 0 };

	must(ioctl(coll_comm_fd(comm), COLL_IOC_STATUS, &s) ? -errno : 0, "status");
	return s.shm_ops;
}

/* In registered memory on rank 0 */
static int sum(uint32_t flags)
{
	struct coll_cmd cmd;

	coll_cmd_allreduce(comm, &cmd, COLL_IN_PLACE, mem, N, COLL_I32, COLL_OP_SUM);
	cmd.flags |= flags;
	return coll_submit(comm, &cmd);
}

static void *sum_thread(void *arg)
{
	(void)arg;
	begun = 1;
	result = sum(0);
	return NULL;
}

static void first_rank(uint32_t size)
{
	pthread_t t;
	uint32_t id, r;

	must(coll_register_buffer(comm, mem, sizeof(mem), COLL_REG_WRITE, &id), "register");
	begun = 0;
	must(-pthread_create(&t, NULL, sum_thread, NULL), "thread");
	while (!begun)
		usleep(1000);
	usleep(100000);
	must(coll_unregister_buffer(comm, id), "unregister");
	for (r = 1; r < size; r++)
		must(coll_send(comm, NULL, 0, COLL_U8, r, 1), "send");
	pthread_join(t, NULL);
	must(result, "a call whose buffer is unregistered");
}

int main(void)
{
	uint32_t size, i, k;
	uint64_t before;

	must(coll_init(NULL, &comm), "coll_init");
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	before = shm_ops();
	for (i = 0; i < FIRST; i++)
		must(sum(0), "one of the first calls");
	if (shm_ops() == before)
		must(-EOPNOTSUPP, "shared memory");
	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < N; k++)
			mem[k] = (int32_t)(me + k);
		if (me) {
			must(coll_recv(comm, NULL, 0, COLL_U8, 0, 1, NULL), "recv");
			must(sum(COLL_CMD_SLEEP), "a call by the kernel");
		} else {
			first_rank(size);
		}
		for (k = 0; k < N; k++)
			if (mem[k] != (int32_t)(size * (size - 1) / 2 + size * k)) {
				fprintf(stderr, "rank %u: element %u is %d\n", me, k, mem[k]);
				return 1;
			}
	}
	coll_finalize(comm);
	return 0;
}
