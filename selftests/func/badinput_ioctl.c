// SPDX-License-Identifier: GPL-2.0
/* Ioctls of unknown numbers and sizes, and ioctls of a process that has not joined. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "badinput.h"

static int submit_sized(int fd, void *arg, unsigned int size)
{
	unsigned long nr = _IOC(_IOC_WRITE, COLL_IOC_MAGIC, 0x10, size);

	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

static void *submit_other(void *arg)
{
	struct raw_comm *c = arg;
	static struct coll_cmd cmd;

	raw_barrier(&cmd);
	cmd.timeout_ns = 20 * SECOND;
	return (void *)(long)raw_submit(c->fd[1], &cmd);
}

/* Structs of other versions: no version was shorter, and a longer one must end in zeros. */
TEST_F(bad, struct_sizes)
{
	char buf[4096] = { };
	struct coll_cmd *cmd = (struct coll_cmd *)buf;
	pthread_t other;
	void *ret;
	int err;

	raw_barrier(cmd);
	cmd->timeout_ns = 20 * SECOND;
	/* Fields that were added later may be left out, but none of the first version. */
	err = submit_sized(self->c.fd[0], buf, offsetof(struct coll_cmd, handle) - 8);
	EXPECT_TRUE(err == -EINVAL || err == -ENOTTY) TH_LOG("%d", err);
	EXPECT_NE(0, submit_sized(self->c.fd[0], buf, 0));
	buf[sizeof(*cmd)] = 1;
	EXPECT_EQ(-E2BIG, submit_sized(self->c.fd[0], buf, sizeof(*cmd) + 8));
	buf[sizeof(*cmd)] = 0;
	buf[4095] = 1;
	EXPECT_EQ(-E2BIG, submit_sized(self->c.fd[0], buf, 4096));
	buf[4095] = 0;

	ASSERT_EQ(0, pthread_create(&other, NULL, submit_other, &self->c));
	EXPECT_EQ(0, submit_sized(self->c.fd[0], buf, 4096));
	pthread_join(other, &ret);
	EXPECT_EQ(0, (long)ret);
	self->posted++;
	/* the struct itself not readable */
	EXPECT_EQ(-EFAULT, submit_sized(self->c.fd[0], NULL, sizeof(*cmd)));
	EXPECT_EQ(-EFAULT, submit_sized(self->c.fd[0], (void *)-4096L, sizeof(*cmd)));
}

TEST_F(bad, unknown_verbs)
{
	char buf[256] = { };
	int fd = self->c.fd[0];
	unsigned int nr;

	/* Far behind the last verb. */
	for (nr = 0x70; nr < 0x78; nr++) {
		errno = 0;
		EXPECT_EQ(-1, ioctl(fd, _IOC(_IOC_WRITE, COLL_IOC_MAGIC, nr, 64), buf));
		EXPECT_EQ(ENOTTY, errno);
	}
	EXPECT_EQ(-1, ioctl(fd, COLL_URING_SUBMIT, buf));
	EXPECT_EQ(ENOTTY, errno);
	/* a number between others that has no verb */
	EXPECT_EQ(-1, ioctl(fd, _IOWR(COLL_IOC_MAGIC, 0x06, char[64]), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, read(fd, buf, 1));
	EXPECT_EQ(-1, write(fd, buf, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
}

TEST_F(bad, child_has_no_rights)
{
	int32_t *in = self->in, *out = self->out;
	int fd = self->c.fd[0], status;
	struct coll_register reg = { .addr = (uintptr_t)in, .len = 4 };
	struct coll_status s;
	struct coll_cmd cmd;
	pid_t pid = fork();

	if (!pid) {
		int bad = 0;

		raw_allreduce(&cmd, in, out, COUNT, COLL_I32, COLL_OP_SUM);
		cmd.timeout_ns = SECOND;
		bad |= (raw_submit(fd, &cmd) != -EPERM) << 0;
		bad |= (raw_abort(fd, 1) != -EPERM) << 1;
		bad |= (ioctl(fd, COLL_IOC_REGISTER, &reg) != -1 || errno != EPERM) << 2;
		bad |= (raw_link(fd, 1, 0, 0) != -EPERM) << 3;
		bad |= (raw_status(fd, &s) != 0) << 4;
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	/* The end of the child's copies of the files disturbs no rank. */
	EXPECT_EQ(0, test_good(&self->c));
	self->posted++;
	pid = fork();
	if (!pid)
		raise(SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
}

TEST_HARNESS_MAIN
