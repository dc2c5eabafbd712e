// SPDX-License-Identifier: GPL-2.0
/*
 * The last close() of a file while another thread is at the very beginning of a call that waits: the
 * kernel is still reading the arguments of the call, which are in a page that is absent.
 */
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ends.h"
#include "pages.h"

#define PAGE		4096
#define CALL_NS		10000000000ULL	/* the call waits so long if nothing ends it */
#define AT_ONCE_NS	3000000000ULL

/**
 * struct entering - a thread that enters a call
 * @c: two ranks; rank 0 is the one
 * @cmd: number of the ioctl
 * @absent: address of its arguments
 * @faults: userfaultfd of that page
 * @args: the bytes of that page
 */
struct entering {
	struct raw_comm c;
	unsigned long cmd;
	char *absent;
	int faults;
	union {
		struct coll_collect collect;
		struct coll_tensor_wait wait;
		char page[PAGE];
	} args;
};

static struct coll_tensor_result result;
static struct coll_completion completion;

static void *enter(void *arg)
{
	struct entering *e = arg;

	ioctl(e->c.fd[0], e->cmd, e->absent);
	return NULL;
}

/* Fill in arguments of a call that waits for a tensor or a command of rank 0. Post that, too. */
static int post_and_prepare(struct entering *e, bool named)
{
	struct coll_tensor t;
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	memset(&e->args, 0, sizeof(e->args));
	if (!named) {
		e->cmd = COLL_IOC_COLLECT;
		e->args.collect = (struct coll_collect){
			.completions = (uintptr_t)&completion,
			.nr = 1,
			.min = 1,
			.timeout_ns = CALL_NS,
		};
		return raw_post_cmd(e->c.fd[0], &cmd, 1) == 1 ? 0 : -1;
	}
	e->cmd = COLL_IOC_TENSOR_WAIT;
	e->args.wait = (struct coll_tensor_wait){
		.results = (uintptr_t)&result,
		.nr = 1,
		.min = 1,
		.timeout_ns = CALL_NS,
	};
	raw_tensor(&t, "alone", &cmd, 1);
	return raw_post(e->c.fd[0], &t, 1, NULL);
}

/*
 * Close the descriptor while @n threads enter the call. With @dups another one stays open, and the
 * rank lives on until that is closed.
 */
static void close_entering(struct __test_metadata *_metadata, bool named, bool dups, int n)
{
	struct entering e;
	struct coll_status s;
	uint64_t when;
	pthread_t t[2];
	int other, i;

	e.absent = pages_map_absent(0, &e.faults);
	if (!e.absent)
		SKIP(return, "there is no userfaultfd");
	ASSERT_EQ(0, named ? raw_start_named(&e.c, 2, 1) : raw_start(&e.c, 2, 1));
	ASSERT_EQ(0, post_and_prepare(&e, named));
	other = dups ? dup(e.c.fd[0]) : -1;
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, enter, &e));
	ASSERT_EQ(0, pages_wait_for_faults(e.faults, n));
	close(e.c.fd[0]);
	e.c.fd[0] = -1;
	ASSERT_EQ(0, pages_fill(e.faults, e.absent, &e.args));
	if (dups) {
		expect_alive(_metadata, &e.c);
		close(other);
	}
	when = test_now_ns();
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	EXPECT_GT(AT_ONCE_NS, test_now_ns() - when) TH_LOG("nobody has seen the last close()");
	ASSERT_EQ(0, raw_status_failed(e.c.fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(0, s.cause.rank);
	raw_stop(&e.c);
	munmap(e.absent, PAGE);
	close(e.faults);
}

TEST(close_entering_collect)		{ close_entering(_metadata, false, false, 1); }
TEST(close_entering_tensor_wait)	{ close_entering(_metadata, true, false, 1); }
TEST(close_two_threads_entering)	{ close_entering(_metadata, true, false, 2); }
TEST(close_of_two_entering_collect)	{ close_entering(_metadata, false, true, 1); }
TEST(close_of_two_entering_wait)	{ close_entering(_metadata, true, true, 1); }

TEST_HARNESS_MAIN
