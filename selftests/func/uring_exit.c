// SPDX-License-Identifier: GPL-2.0
/*
 * A rank with commands in flight in its ring goes away: by closing this or
 * that, by exit, by exec, by a signal. Nobody may hang: not it, not the others.
 *
 * Three ranks. Rank 0 has posted by io_uring, rank 1 waits in ioctl, rank 2 has
 * posted nothing, so that nothing can complete.
 */
#include <signal.h>

#include "harness.h"
#include "procs.h"
#include "ring.h"
#include "util.h"

#define IN_FLIGHT	5

enum act {
	ACT_CLOSE_FD,
	ACT_CLOSE_RING,
	ACT_CLOSE_FD_RING,
	ACT_CLOSE_RING_FD,
	ACT_EXIT,
	ACT_CLOSE_FD_EXIT,
	ACT_CLOSE_RING_EXIT,
	ACT_EXEC,
	ACT_CLOSE_FD_EXEC,
	ACT_KILL,
	NR_ACTS
};

static const char * const act_names[] = {
	"close fd", "close ring", "close fd, ring", "close ring, fd", "exit",
	"close fd, exit", "close ring, exit", "exec", "close fd, exec", "kill",
};

/**
 * struct scene - what happens in all three processes
 * @act: to rank 0
 * @fixed: it uses a registered file
 * @buffers: its memory is registered with the ring
 * @setup: flags of its ring
 * @when: time of the act
 * @harmless: no rank hears of the act: rank 2 posts then, so that all commands complete
 */
struct scene {
	enum act act;
	bool fixed;
	bool buffers;
	unsigned int setup;
	volatile uint64_t when;
	volatile uint32_t harmless;
};

static struct scene *scene;

static void post_five(struct procs *p, struct io_uring *ring)
{
	/* Linux 6.1 registers no memory of a program file, such as static variables. */
	int32_t (*buf)[1000] = mmap(NULL, IN_FLIGHT * sizeof(*buf), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct coll_cmd cmd[IN_FLIGHT];
	struct io_uring_params params = { .flags = scene->setup };
	struct iovec iov = { buf, IN_FLIGHT * sizeof(*buf) };
	int fd = p->c.fd[0], i;
	int ret = io_uring_queue_init_params(8, ring, &params);

	if (!ret && scene->fixed)
		ret = io_uring_register_files(ring, &fd, 1);
	if (!ret && scene->buffers)
		ret = io_uring_register_buffers(ring, &iov, 1);
	for (i = 0; !ret && i < IN_FLIGHT; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		raw_allreduce(&cmd[i], NULL, buf[i], 1000, COLL_I32, COLL_OP_SUM);
		ring_prep(sqe, scene->fixed ? 0 : fd, &cmd[i], i);
		if (scene->fixed)
			sqe->flags |= IOSQE_FIXED_FILE;
		if (scene->buffers)
			sqe->rw_flags = 1;	/* IORING_URING_CMD_FIXED; buf_index is 0 */
	}
	if (!ret)
		ret = io_uring_submit(ring) == IN_FLIGHT ? 0 : -EIO;
	if (ret)
		procs_result(p, 0, ret);
}

/* Rank 0 lives on: what do its commands say? */
static void collect(struct procs *p, struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;
	int i;

	for (i = 0; i < IN_FLIGHT; i++) {
		if (io_uring_wait_cqe_timeout(ring, &cqe, &ts)) {
			procs_result(p, 0, -ETIME);
			return;
		}
		procs_result(p, 0, cqe->res);
		io_uring_cqe_seen(ring, cqe);
		p->sh->rank[0].done++;
	}
}

static void act(struct procs *p)
{
	static char *argv[] = { "true", NULL }, *env[] = { NULL };
	struct io_uring ring;
	int fd = p->c.fd[0];

	post_five(p, &ring);
	/* rank 1 is in its ioctl by then */
	while (p->sh->rank[1].phase != PROCS_RUNNING)
		test_sleep_us(200);
	test_sleep_us(20000);
	scene->when = test_now_ns();
	switch (scene->act) {
	case ACT_CLOSE_FD:
		close(fd);
		collect(p, &ring);
		break;
	case ACT_CLOSE_RING:
		io_uring_queue_exit(&ring);
		break;
	case ACT_CLOSE_FD_RING:
		close(fd);
		io_uring_queue_exit(&ring);
		break;
	case ACT_CLOSE_RING_FD:
		io_uring_queue_exit(&ring);
		close(fd);
		break;
	case ACT_CLOSE_FD_EXIT:
		close(fd);
		_exit(0);
	case ACT_CLOSE_RING_EXIT:
		io_uring_queue_exit(&ring);
		_exit(0);
	case ACT_CLOSE_FD_EXEC:
		close(fd);
		/* fallthrough */
	case ACT_EXEC:
		execve("/bin/true", argv, env);
		_exit(9);
	case ACT_KILL:
		raise(SIGKILL);
		/* fallthrough */
	default:
		_exit(0);
	}
}

static void ops(struct procs *p, uint32_t rank)
{
	static int32_t buf[1000];
	struct coll_cmd cmd;
	int ret = 0, i;

	if (rank == 0) {
		act(p);
		return;
	}
	if (rank == 2)
		while (!p->sh->quit && !scene->harmless &&
		       p->sh->rank[1].phase != PROCS_ENDED)
			test_sleep_us(200);
	for (i = 0; !ret && i < IN_FLIGHT; i++) {
		raw_allreduce(&cmd, NULL, buf, 1000, COLL_I32, COLL_OP_SUM);
		p->sh->rank[rank].asked = test_now_ns();
		ret = raw_submit(p->c.fd[rank], &cmd);
		procs_result(p, rank, ret);
		p->sh->rank[rank].done += !ret;
	}
}

static bool has_cancel(void)
{
	return raw_features() & COLL_FEAT_URING_CANCEL;
}

/*
 * Must the others be told? Not while the command may still complete: the file
 * lives on in the ring's table, or a ring is closed and the kernel is too old
 * to tell us, while the file is still open.
 */
static bool must_be_heard(const struct scene *s)
{
	if (s->act == ACT_CLOSE_FD)
		return !s->fixed;
	if (s->act == ACT_CLOSE_RING)
		return has_cancel();
	if (s->act == ACT_CLOSE_FD_RING || s->act == ACT_CLOSE_RING_FD)
		return has_cancel() || !s->fixed;
	return true;
}

static bool is_alive_after(enum act act)
{
	return act == ACT_CLOSE_FD || act == ACT_CLOSE_RING ||
	       act == ACT_CLOSE_FD_RING || act == ACT_CLOSE_RING_FD;
}

static void check_others(struct __test_metadata *_metadata, struct procs *p)
{
	/* Where io_uring does not tell, the module looks now and then. */
	bool slow = scene->act == ACT_EXEC && !has_cancel();
	uint64_t since;
	uint32_t r;

	for (r = 1; r < 3; r++) {
		const struct procs_rank *k = &p->sh->rank[r];

		EXPECT_EQ(-EHOSTDOWN, k->result) TH_LOG("rank %u", r);
		since = procs_asked_after(k, scene->when) + (slow ? 2000000000ULL : 0);
		EXPECT_FALSE(test_late(since, k->when));
		EXPECT_EQ(0, k->status.cause.rank);
		EXPECT_EQ(EHOSTDOWN, k->status.cause.error);
		EXPECT_TRUE(k->status.cause.kind == COLL_CAUSE_EXIT ||
			    k->status.cause.kind == COLL_CAUSE_CLOSE ||
			    k->status.cause.kind == COLL_CAUSE_CANCEL) {
			TH_LOG("kind %u", k->status.cause.kind);
		}
	}
}

static void play(struct __test_metadata *_metadata, enum act act, bool fixed,
		 bool buffers, unsigned int setup, uint32_t nodes)
{
	struct procs p = { .ops = ops };
	bool heard;
	int status;

	memset(scene, 0, sizeof(*scene));
	scene->act = act;
	scene->fixed = fixed;
	scene->buffers = buffers;
	scene->setup = setup;
	heard = must_be_heard(scene);
	ASSERT_EQ(0, procs_start(&p, 3, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	while (!scene->when)
		test_sleep_us(200);
	if (!heard) {
		test_sleep_us(50000);
		scene->harmless = 1;
	}
	if (!is_alive_after(act)) {
		status = procs_reap(&p, 0, 20000);
		EXPECT_EQ(act == ACT_KILL ? SIGKILL : 0, status) {
			TH_LOG("rank 0 does not end");
		}
	}
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, test_bound_ms() + 10000)) {
		TH_LOG("HANG: results %d %d", p.sh->rank[1].result,
		       p.sh->rank[2].result);
	}
	if (heard)
		check_others(_metadata, &p);
	else
		EXPECT_TRUE((p.sh->rank[1].done == IN_FLIGHT &&
			     p.sh->rank[2].done == IN_FLIGHT) ||
			    p.sh->rank[1].result == -EHOSTDOWN);
	if (act == ACT_CLOSE_FD) {
		EXPECT_EQ(IN_FLIGHT, p.sh->rank[0].done);
		EXPECT_EQ(heard ? -ECANCELED : 0, p.sh->rank[0].result);
	}
	procs_stop(&p);
	if (_metadata->exit_code)
		TH_LOG("%s, %s file, ring flags %#x, %u nodes", act_names[act],
		       fixed ? "fixed" : "plain", setup, nodes);
	ASSERT_EQ(0, _metadata->exit_code);
}

static void play_all(struct __test_metadata *_metadata, bool fixed, bool buffers,
		     unsigned int setup)
{
	enum act a;

	scene = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (a = 0; a < NR_ACTS; a++) {
		play(_metadata, a, fixed, buffers, setup, 1);
		play(_metadata, a, fixed, buffers, setup, 3);
	}
}

TEST(plain_file)	{ play_all(_metadata, false, false, 0); }
TEST(fixed_file)	{ play_all(_metadata, true, false, 0); }
TEST(fixed_buffers)	{ play_all(_metadata, false, true, 0); }
TEST(all_fixed)		{ play_all(_metadata, true, true, 0); }
TEST(sqpoll)		{ play_all(_metadata, false, false, IORING_SETUP_SQPOLL); }
TEST(coop_taskrun)	{ play_all(_metadata, false, false, IORING_SETUP_COOP_TASKRUN); }
TEST(defer_taskrun)
{
	/* SINGLE_ISSUER | DEFER_TASKRUN, from 6.1 on */
	play_all(_metadata, false, true, 1U << 12 | 1U << 13);
}

TEST_HARNESS_MAIN
