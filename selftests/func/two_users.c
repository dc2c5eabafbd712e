// SPDX-License-Identifier: GPL-2.0
/*
 * One user makes as many communicators, and posts as many commands, as the limits allow. This
 * does not disturb another user. When the processes of the first user have ended, it may begin
 * again.
 */
#include <errno.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <grp.h>
#include <sys/resource.h>

#include "harness.h"
#include "ring.h"
#include "util.h"

#define SECOND	1000000000ULL
#define MOST	5000
#define INFLIGHT	1000

static bool become(uid_t uid)
{
	struct rlimit rl = { 16384, 16384 };

	setrlimit(RLIMIT_NOFILE, &rl);
	return !setgroups(0, NULL) && !setgid(uid) && !setuid(uid);
}

/* Join communicators of one rank until that is refused. Return: their number. They stay open. */
static int all_communicators(int *error)
{
	struct raw_comm c;
	int n, fd;

	*error = 0;
	for (n = 0; n < MOST; n++) {
		raw_plan(&c, 1, 1);
		fd = raw_open();
		*error = fd < 0 ? fd : raw_join(fd, &c, 0);
		if (*error)
			break;
	}
	if (*error && fd >= 0)
		close(fd);
	return n;
}

/* The groups of a process that has ended count until a work item has freed them: 20 s at most. */
static int communicators_again(int *error)
{
	int n = all_communicators(error), k;

	for (k = 0; !n && *error == -EMFILE && k < 2000; k++) {
		test_sleep_us(10000);
		n = all_communicators(error);
	}
	return n;
}

static int start_again(struct raw_comm *c)
{
	int ret = raw_start(c, 2, 1), k;

	for (k = 0; ret == -EMFILE && k < 2000; k++) {
		raw_stop(c);
		test_sleep_us(10000);
		ret = raw_start(c, 2, 1);
	}
	return ret;
}

/* Receives that nobody will ever match, until that is refused. Return: their number. */
static int all_commands(int *error)
{
	static struct coll_cmd cmd;
	static int32_t buf[4];
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct raw_comm c;
	int n;

	*error = 0;
	if (start_again(&c) || io_uring_queue_init(64, &ring, 0))
		return 0;
	raw_recv(&cmd, buf, 1, COLL_I32, 1, 7, NULL);
	for (n = 0; n < MOST; n++) {
		ring_prep(io_uring_get_sqe(&ring), c.fd[0], &cmd, n);
		if (io_uring_submit(&ring) != 1)
			break;
		if (!io_uring_peek_cqe(&ring, &cqe)) {
			*error = cqe->res;
			io_uring_cqe_seen(&ring, cqe);
			break;
		}
	}
	return n;
}

/* Takes all that the limits allow, says so, and holds it until the other end is closed. */
static int greedy(int say, int until)
{
	int error, refused, n, cmds;
	char byte = 0;

	if (!become(65533))
		return 1;
	cmds = all_commands(&refused);
	n = communicators_again(&error);
	printf("# %d communicators, then %d; %d commands, then %d\n", n, error, cmds, refused);
	fflush(stdout);
	if (!n || error != -EMFILE || cmds < INFLIGHT || refused != -ENOMEM)
		return 2;
	if (write(say, &byte, 1) != 1)
		return 3;
	return read(until, &byte, 1) != 0;
}

/* The time of some ops in ns; 0: they do not work. */
static uint64_t modest(void)
{
	uint64_t start = test_now_ns();
	struct raw_comm c;
	int i, ret;

	ret = raw_start(&c, 2, 2);
	for (i = 0; i < 20 && !ret; i++)
		ret = test_good(&c);
	raw_stop(&c);
	return ret ? 0 : test_now_ns() - start;
}

static int bystander(void)
{
	if (!become(65532))
		return 1;
	return modest() ? 0 : 2;
}

static int child(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(f());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(second_user_does_not_notice)
{
	int say[2], until[2], status, round, inflight;
	char limit[16] = "";
	struct stat st;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, stat("/dev/coll", &st));
	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	ASSERT_TRUE(test_get(TEST_MAX_GROUPS, limit, sizeof(limit)));
	ASSERT_TRUE(test_put(TEST_MAX_GROUPS, "100"));
	inflight = raw_max_inflight(INFLIGHT);
	ASSERT_LT(0, inflight);
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, pipe(say));
		ASSERT_EQ(0, pipe(until));
		pid = fork();
		if (!pid) {
			close(until[1]);
			_exit(greedy(say[1], until[0]));
		}
		close(until[0]);
		close(say[1]);
		ASSERT_EQ(1, read(say[0], &byte, 1)) TH_LOG("no limit has stopped the other user");
		EXPECT_EQ(0, child(bystander)) TH_LOG("round %d", round);
		close(until[1]);
		close(say[0]);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_LT(0, raw_max_inflight(inflight));
	EXPECT_TRUE(test_put(TEST_MAX_GROUPS, limit));
	EXPECT_EQ(0, chmod("/dev/coll", st.st_mode & 07777));
}

TEST_HARNESS_MAIN
