// SPDX-License-Identifier: GPL-2.0
/* COLL_IOC_TENSOR_WAIT that posts first. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "named_pair.h"
#include "ring.h"
#include "util.h"

/**
 * struct both - arguments of a call
 * @post: the tensor of rank 0
 * @wait: refers to @post and @res
 * @res: room for results
 */
struct both {
	struct coll_tensor_post post;
	struct coll_tensor_wait wait;
	struct coll_tensor_result res[2];
};

static void both_of(struct both *b, const struct coll_tensor *t, uint32_t nr)
{
	*b = (struct both){
		.post = { .tensors = (uintptr_t)t, .nr = nr, .size = sizeof(*t) },
		.wait = {
			.results = (uintptr_t)b->res, .nr = 2, .min = 1, .timeout_ns = 20 * SECOND,
			.post = (uintptr_t)&b->post, .post_size = sizeof(b->post),
		},
	};
}

static int call(struct pair *p, void *wait)
{
	return ioctl(p->c.fd[0], COLL_IOC_TENSOR_WAIT, wait) ? -errno : 0;
}

static int go(struct pair *p, struct both *b)
{
	return call(p, &b->wait);
}

TEST(one_call)
{
	struct coll_tensor_result res;
	struct both b;
	struct pair p;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_POST_WAIT);
	ASSERT_EQ(0, pair_start(&p, 1));
	pair_make(&p, "x", 3);
	ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
	both_of(&b, &p.t[0], 1);
	EXPECT_EQ(0, go(&p, &b));
	EXPECT_EQ(1, b.wait.got);
	EXPECT_EQ(70, b.res[0].tag);
	EXPECT_EQ(0, b.res[0].result);
	EXPECT_EQ(3, p.out[0][0]);
	EXPECT_EQ(1, b.post.posted);
	EXPECT_EQ(0, b.wait.post);
	expect_result(_metadata, &p, 1, 0, &res);
	raw_stop(&p.c);
}

/* The call posts also if it does not wait, and if the wait ends without a result. */
TEST(no_wait)
{
	struct coll_tensor_result res;
	struct both b;
	struct pair p;

	ASSERT_EQ(0, pair_start(&p, 2));
	pair_make(&p, "x", 3);
	both_of(&b, &p.t[0], 1);
	b.wait.min = 0;
	EXPECT_EQ(0, go(&p, &b));
	EXPECT_EQ(0, b.wait.got);
	EXPECT_EQ(1, b.post.posted);
	ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
	expect_result(_metadata, &p, 0, 0, &res);
	expect_result(_metadata, &p, 1, 0, &res);
	both_of(&b, &p.t[0], 1);
	b.wait.timeout_ns = 30 * MS;
	EXPECT_EQ(-ETIMEDOUT, go(&p, &b));
	EXPECT_EQ(1, b.post.posted);
	ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
	expect_result(_metadata, &p, 0, 0, &res);
	expect_result(_metadata, &p, 1, 0, &res);
	raw_stop(&p.c);
}

static void refused(struct __test_metadata *_metadata, struct pair *p, struct both *b, int error)
{
	struct coll_tensor_result res;

	EXPECT_EQ(error, -go(p, b));
	EXPECT_EQ(0, b->post.posted);
	/* Nothing of it is pending. */
	EXPECT_EQ(0, raw_collect(p->c.fd[0], &res, 1, 1, SECOND));
}

TEST(wrong_arguments)
{
	struct both b;
	struct pair p;
	char *page;

	ASSERT_EQ(0, pair_start(&p, 1));
	pair_make(&p, "x", 3);
	both_of(&b, &p.t[0], 1);
	b.wait.post_size = sizeof(b.post) - 8;
	refused(_metadata, &p, &b, EINVAL);
	both_of(&b, &p.t[0], 1);
	b.wait.post_size = 0;
	refused(_metadata, &p, &b, EINVAL);
	b.wait.post_size = (uint32_t)sysconf(_SC_PAGESIZE) + 8;
	refused(_metadata, &p, &b, E2BIG);
	both_of(&b, &p.t[0], 1);
	b.wait.reserved = 1;
	refused(_metadata, &p, &b, EINVAL);
	both_of(&b, &p.t[0], 1);
	b.wait.post = 8;
	refused(_metadata, &p, &b, EFAULT);
	both_of(&b, &p.t[0], 1);
	b.post.flags = 1;
	refused(_metadata, &p, &b, EINVAL);
	/* ->post cannot be cleared: a restart would post again. */
	page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	both_of(&b, &p.t[0], 1);
	memcpy(page, &b.wait, sizeof(b.wait));
	ASSERT_EQ(0, mprotect(page, 65536, PROT_READ));
	EXPECT_EQ(-EFAULT, call(&p, page));
	EXPECT_EQ(0, b.post.posted);
	expect_sum(_metadata, &p, "x");
	raw_stop(&p.c);
}

/* The second tensor is refused: the first one stays posted, and the call does not wait for it. */
TEST(refused_tensor)
{
	struct coll_tensor_result res;
	struct coll_tensor two[2];
	struct both b;
	struct pair p;

	ASSERT_EQ(0, pair_start(&p, 1));
	pair_make(&p, "x", 3);
	two[0] = p.t[0];
	two[1] = p.t[0];
	both_of(&b, two, 2);
	EXPECT_EQ(-EEXIST, go(&p, &b));
	EXPECT_EQ(1, b.post.posted);
	EXPECT_EQ(0, b.wait.got);
	ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
	expect_result(_metadata, &p, 0, 0, &res);
	expect_result(_metadata, &p, 1, 0, &res);
	raw_stop(&p.c);
}

static volatile uint32_t handled;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

/**
 * struct waiter - a thread in the call
 * @p: with the tensor that it posts
 * @b: arguments
 * @ret: what the call returned
 */
struct waiter {
	struct pair *p;
	struct both b;
	int ret;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	both_of(&w->b, &w->p->t[0], 1);
	w->ret = go(w->p, &w->b);
	return NULL;
}

/* Let a signal interrupt the wait of a call that has posted. */
static void interrupt(struct __test_metadata *_metadata, struct waiter *w, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };
	struct pair *p = w->p;
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	handled = 0;
	ASSERT_EQ(0, pair_start(p, 1));
	pair_make(p, "x", 3);
	ASSERT_EQ(0, pthread_create(&t, NULL, waiter_run, w));
	while (!__atomic_load_n(&w->b.post.posted, __ATOMIC_ACQUIRE))
		test_sleep_us(200);
	test_sleep_us(20000);
	pthread_kill(t, SIGUSR1);
	test_wait_count(&handled, 1);
	EXPECT_EQ(1, handled);
	/* A restarted call is asleep again. */
	test_sleep_us(20000);
	ASSERT_EQ(0, raw_post(p->c.fd[1], &p->t[1], 1, NULL));
	pthread_join(t, NULL);
}

/* The restarted call does not post the tensor again, which would be EEXIST. */
TEST(restart)
{
	struct pair p;
	struct waiter w = { .p = &p };
	struct coll_tensor_result res;

	interrupt(_metadata, &w, SA_RESTART);
	EXPECT_EQ(0, w.ret);
	EXPECT_EQ(1, w.b.wait.got);
	EXPECT_EQ(0, w.b.res[0].result);
	expect_result(_metadata, &p, 1, 0, &res);
	EXPECT_EQ(0, raw_collect(p.c.fd[0], &res, 1, 1, SECOND));
	raw_stop(&p.c);
}

/* Without SA_RESTART the call ends, and the tensor stays posted. */
TEST(interrupted)
{
	struct pair p;
	struct waiter w = { .p = &p };
	struct coll_tensor_result res;

	interrupt(_metadata, &w, 0);
	EXPECT_EQ(-EINTR, w.ret);
	EXPECT_EQ(1, w.b.post.posted);
	expect_result(_metadata, &p, 0, 0, &res);
	expect_result(_metadata, &p, 1, 0, &res);
	raw_stop(&p.c);
}

TEST(io_uring_refuses)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct both b;
	struct pair p;

	ASSERT_EQ(0, io_uring_queue_init(4, &ring, 0));
	ASSERT_EQ(0, pair_start(&p, 1));
	pair_make(&p, "x", 3);
	both_of(&b, &p.t[0], 1);
	ring_prep_op(io_uring_get_sqe(&ring), p.c.fd[0], COLL_URING_TENSOR_WAIT, &b.wait,
		     sizeof(b.wait), 1);
	ASSERT_EQ(1, io_uring_submit_and_wait(&ring, 1));
	ASSERT_EQ(0, io_uring_peek_cqe(&ring, &cqe));
	EXPECT_EQ(-EINVAL, cqe->res);
	EXPECT_EQ(0, b.post.posted);
	io_uring_cqe_seen(&ring, cqe);
	expect_sum(_metadata, &p, "x");
	io_uring_queue_exit(&ring);
	raw_stop(&p.c);
}

TEST_HARNESS_MAIN
