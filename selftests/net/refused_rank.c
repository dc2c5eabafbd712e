// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... refused_rank ERROR [late]: a thread of rank 0, to which io_uring_enter() gives ERROR,
 * as it does when it has no memory, starts a collective. A thread that waits for the collective
 * submits it, before any later command. This also works while another thread sleeps until a message
 * comes, which is sent after the collective. A call on another communicator submits it, too, if
 * rank 0 waits there for ranks that wait for the collective first. With "late" nobody can submit
 * it, and its own deadline ends it, for all. Exit status 4: there is no seccomp.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coll/coll.h>

#include "rank.h"

#define COUNT	1000
#define ROUNDS	3

static coll_comm_t *comm;
static uint32_t in[COUNT], out[COUNT], after[COUNT / 2];
static uint32_t word;
static coll_request_t *req, *message;
static unsigned int error;

/* io_uring_enter() fails for this thread from now on. */
static int forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_enter, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

static int start(void)
{
	return coll_iallreduce(comm, in, out, COUNT, COLL_U32, COLL_OP_SUM, &req);
}

static void *refused(void *unused)
{
	int done;

	(void)unused;
	if (forbid())
		exit(4);
	must(start(), "start");
	must(coll_test(req, &done), "test");
	if (done) {
		fprintf(stderr, "it has been submitted all the same\n");
		exit(1);
	}
	return NULL;
}

static void start_elsewhere(void)
{
	pthread_t thread;

	must(-pthread_create(&thread, NULL, refused, NULL), "thread");
	pthread_join(thread, NULL);
}

static void *sleeps(void *unused)
{
	(void)unused;
	must(coll_wait(message), "wait for the message");
	return NULL;
}

/* Rank 0 starts the collective while the thread of sleeps() holds the ring. */
static void start_beside(pthread_t *thread)
{
	must(coll_irecv(comm, &word, 1, COLL_U32, 1, 0, NULL, &message), "receive");
	must(-pthread_create(thread, NULL, sleeps, NULL), "thread");
	usleep(100000);
	start_elsewhere();
}

static void beside_a_message(void)
{
	pthread_t thread;

	memset(out, 0xff, sizeof(out));
	if (me)
		must(start(), "start");
	else
		start_beside(&thread);
	must(coll_wait(req), "wait");
	if (me == 1)
		must(coll_send(comm, &me, 1, COLL_U32, 0, 0), "send");
	if (!me)
		pthread_join(thread, NULL);
	if (!me && word != 1) {
		fprintf(stderr, "the message is %u\n", word);
		exit(1);
	}
}

/* Rank 0 waits for the collective after the barrier, the others before. */
static void beside_a_barrier(bool blocks)
{
	coll_request_t *barrier;
	coll_comm_t *other;

	must(coll_comm_dup(comm, &other), "dup");
	memset(out, 0xff, sizeof(out));
	if (me) {
		must(start(), "start");
		must(coll_wait(req), "wait");
	} else {
		start_elsewhere();
	}
	if (blocks) {
		must(coll_barrier(other), "barrier");
	} else {
		must(coll_ibarrier(other, &barrier), "start of the barrier");
		must(coll_wait(barrier), "barrier");
	}
	if (!me)
		must(coll_wait(req), "wait");
	must(coll_finalize(other), "end of the other");
}

static void check(const uint32_t *v, uint32_t n)
{
	uint32_t i, sum = coll_comm_size(comm) * (coll_comm_size(comm) - 1) / 2;

	for (i = 0; i < n; i++) {
		if (v[i] == coll_comm_size(comm) * i + sum)
			continue;
		fprintf(stderr, "rank %u: element %u is %u\n", me, i, v[i]);
		exit(1);
	}
}

static void *never(void *unused)
{
	int ret;

	(void)unused;
	if (forbid())
		exit(4);
	must(start(), "start");
	ret = coll_wait(req);
	if (ret == -ETIMEDOUT)
		return NULL;
	fprintf(stderr, "what nobody took ended with %s\n", coll_strerror(ret));
	exit(1);
}

static int late(void)
{
	pthread_t thread;
	uint32_t i;
	int ret;

	if (!me) {
		/* All are through with what came before. */
		for (i = 1; i < coll_comm_size(comm); i++)
			must(coll_recv(comm, &word, 1, COLL_U32, i, 0, NULL), "receive");
		must(coll_comm_set_timeout(comm, 200000000), "timeout");
		must(-pthread_create(&thread, NULL, never, NULL), "thread");
		return pthread_join(thread, NULL);
	}
	must(coll_comm_set_timeout(comm, 0), "timeout");
	must(coll_send(comm, &me, 1, COLL_U32, 0, 0), "send");
	must(start(), "start");
	ret = coll_wait(req);
	/* The error must be that of rank 0's abort, not that it has gone. */
	if (ret == -ESHUTDOWN)
		return 0;
	fprintf(stderr, "rank %u: without rank 0 it ended with %s\n", me, coll_strerror(ret));
	return 1;
}

int main(int argc, char **argv)
{
	int i;

	if (argc != 2 && argc != 3)
		return 2;
	error = !strcmp(argv[1], "ENOMEM") ? ENOMEM : EAGAIN;
	must(coll_init(NULL, &comm), "init");
	me = coll_comm_rank(comm);
	for (i = 0; i < COUNT; i++)
		in[i] = i + me;
	/* the first one makes the ring */
	must(start(), "start");
	must(coll_wait(req), "wait");
	if (argc == 3)
		return late();
	for (i = 0; i < ROUNDS; i++) {
		memset(out, 0xff, sizeof(out));
		if (me)
			must(start(), "start");
		else
			start_elsewhere();
		/* This op waits for the refused command: if it came first, ranks would disagree. */
		if (i % 2)
			must(coll_allreduce(comm, in, after, COUNT / 2, COLL_U32, COLL_OP_SUM),
			     "the next one");
		must(coll_wait(req), "wait");
		check(out, COUNT);
		if (i % 2)
			check(after, COUNT / 2);
	}
	beside_a_message();
	check(out, COUNT);
	for (i = 0; i < 2; i++) {
		beside_a_barrier(i);
		check(out, COUNT);
	}
	must(coll_finalize(comm), "finalize");
	return 0;
}
