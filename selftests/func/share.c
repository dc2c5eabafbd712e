// SPDX-License-Identifier: GPL-2.0
/* Links that communicators share: COLL_LINK_SHARE, good and bad. */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define NODES	3
#define OTHERS	4

/* Join as the ranks of @c; nothing is linked. */
static int join_all(struct raw_comm *c, uint32_t size, uint32_t nodes)
{
	uint32_t r;
	int ret = 0;

	raw_plan(c, size, nodes);
	for (r = 0; !ret && r < size; r++) {
		c->fd[r] = raw_open();
		ret = c->fd[r] < 0 ? c->fd[r] : raw_join(c->fd[r], c, r);
	}
	return ret;
}

/* Every pair of nodes by the links of @parent; ranks are nodes. */
static int share_all(struct raw_comm *c, struct raw_comm *parent)
{
	uint32_t a, b;
	int ret = 0;

	for (a = 0; a < c->nodes; a++)
		for (b = 0; !ret && b < c->nodes; b++)
			if (a != b)
				ret = raw_share(c->fd[a], b, parent->fd[a], b);
	return ret;
}

static int start_other(struct raw_comm *c, struct raw_comm *parent)
{
	int ret = join_all(c, parent->size, parent->nodes);

	return ret ? ret : share_all(c, parent);
}

/* Children, and children of children, share links. A parent may end before its children. */
TEST(generations)
{
	struct raw_comm c[OTHERS + 1];
	int i, k;

	ASSERT_EQ(0, raw_start(&c[0], NODES, NODES));
	for (i = 1; i <= OTHERS; i++)
		ASSERT_EQ(0, start_other(&c[i], &c[i / 2]));
	for (k = 0; k < 3; k++)
		for (i = 0; i <= OTHERS; i++)
			EXPECT_EQ(0, test_good(&c[i])) TH_LOG("communicator %d", i);
	for (k = 0; k <= OTHERS; k++) {
		raw_stop(&c[k]);
		for (i = k + 1; i <= OTHERS; i++)
			EXPECT_EQ(0, test_good(&c[i])) TH_LOG("%d after %d", i, k);
	}
}

/* A child of some of the nodes only, with other numbers. */
TEST(other_numbers)
{
	struct raw_comm parent, c;
	int i;

	ASSERT_EQ(0, raw_start(&parent, NODES, NODES));
	ASSERT_EQ(0, join_all(&c, 2, 2));
	/* its nodes 0 and 1 are 2 and 1 of the parent */
	ASSERT_EQ(0, raw_share(c.fd[0], 1, parent.fd[2], 1));
	ASSERT_EQ(0, raw_share(c.fd[1], 0, parent.fd[1], 2));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(0, test_good(&c));
		EXPECT_EQ(0, test_good(&parent));
	}
	raw_stop(&parent);
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
}

/* Each end says that it is a link to somebody else. */
TEST(wrong_peer)
{
	struct raw_comm parent, c;
	struct coll_status s;

	ASSERT_EQ(0, raw_start(&parent, NODES, NODES));
	ASSERT_EQ(0, join_all(&c, 3, 3));
	ASSERT_EQ(0, raw_share(c.fd[0], 1, parent.fd[0], 2));
	ASSERT_EQ(0, raw_share(c.fd[2], 0, parent.fd[2], 0));
	/* when the handshakes of the parent's streams are complete */
	ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
	EXPECT_EQ(-EPROTO, test_good(&c));
	EXPECT_EQ(0, test_good(&parent));
	raw_stop(&c);
	EXPECT_EQ(0, test_good(&parent));
	raw_stop(&parent);
}

FIXTURE(bad) {
	struct raw_comm parent, c;
};

FIXTURE_SETUP(bad)
{
	ASSERT_EQ(0, raw_start(&self->parent, 2, 2));
	ASSERT_EQ(0, join_all(&self->c, 2, 2));
}

/* Nothing of it has done any harm. */
FIXTURE_TEARDOWN(bad)
{
	EXPECT_EQ(0, share_all(&self->c, &self->parent));
	EXPECT_EQ(0, test_good(&self->c));
	EXPECT_EQ(0, test_good(&self->parent));
	raw_stop(&self->c);
	raw_stop(&self->parent);
}

static int ioc_link(int fd, struct coll_link_add *l)
{
	return ioctl(fd, COLL_IOC_LINK, l) ? -errno : 0;
}

TEST_F(bad, numbers)
{
	int fd = self->c.fd[0], parent = self->parent.fd[0];
	struct coll_link_add l = {
		.peer = 1, .fd = parent, .flags = COLL_LINK_SHARE, .parent_peer = 1,
	}, bad;
	int i;

	EXPECT_EQ(-EINVAL, raw_share(fd, 0, parent, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 2, parent, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, ~0U, parent, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, parent, 0));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, parent, 2));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, parent, ~0U));
	for (i = 1; i < 32; i++) {
		bad = l;
		bad.flags |= 1U << i;
		EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
	}
	for (i = 0; i < 3; i++) {
		bad = l;
		bad.reserved[i] = 1;
		EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
	}
	bad = l;
	bad.stripe = 1;
	EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
	/* @parent_peer without COLL_LINK_SHARE */
	bad = l;
	bad.flags = 0;
	EXPECT_EQ(-EINVAL, ioc_link(fd, &bad));
}

TEST_F(bad, files)
{
	int fd = self->c.fd[0], fresh = raw_open(), null = open("/dev/null", O_RDWR);
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-EBADF, raw_share(fd, 1, -1, 1));
	EXPECT_EQ(-EBADF, raw_share(fd, 1, 999, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, null, 1));
	EXPECT_EQ(-EINVAL, raw_share(fd, 1, pipes[0], 1));
	/* not joined, on either side; itself; one without links */
	EXPECT_EQ(-ENOTCONN, raw_share(fd, 1, fresh, 1));
	EXPECT_EQ(-ENOTCONN, raw_share(fresh, 1, fd, 1));
	EXPECT_EQ(-ENOTCONN, raw_share(fd, 1, fd, 1));
	EXPECT_EQ(-ENOTCONN, raw_share(fd, 1, self->c.fd[1], 0));
	close(fresh);
	close(null);
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(bad, twice)
{
	struct raw_comm other;

	/* the same communicator, by the parent's own link */
	EXPECT_EQ(-EEXIST, raw_share(self->parent.fd[0], 1, self->parent.fd[0], 1));
	/* a link that is there */
	ASSERT_EQ(0, start_other(&other, &self->parent));
	EXPECT_EQ(-EEXIST, raw_share(other.fd[0], 1, self->parent.fd[0], 1));
	EXPECT_EQ(0, test_good(&other));
	raw_stop(&other);
}

/* A parent that has failed, and one whose other end has gone. */
TEST_F(bad, parents)
{
	struct raw_comm dead;

	ASSERT_EQ(0, raw_start(&dead, 2, 2));
	EXPECT_EQ(0, raw_abort(dead.fd[0], 1));
	EXPECT_EQ(-ESHUTDOWN, raw_share(self->c.fd[0], 1, dead.fd[0], 1));
	raw_stop(&dead);
	ASSERT_EQ(0, raw_start(&dead, 2, 2));
	close(dead.fd[1]);
	dead.fd[1] = -1;
	test_sleep_us(50000);
	EXPECT_EQ(-ENOTCONN, raw_share(self->c.fd[0], 1, dead.fd[0], 1));
	raw_stop(&dead);
}

/* Somebody else's files: of another process, of another user. */
TEST_F(bad, owners)
{
	int status, pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		/* its own child communicator, the parent of another process */
		struct raw_comm mine;
		int ret = join_all(&mine, 2, 2);

		if (!ret)
			ret = raw_share(mine.fd[0], 1, self->parent.fd[0], 1);
		if (ret == -EPERM)
			ret = raw_share(self->c.fd[0], 1, self->parent.fd[0], 1);
		_exit(ret == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Many go and come, at both ends, while one works. */
TEST(come_and_go)
{
	uint64_t lots = test_seed();
	struct raw_comm parent, c[OTHERS];
	bool there[OTHERS] = { false };
	unsigned int i;
	uint32_t k;

	ASSERT_EQ(0, raw_start(&parent, NODES, NODES));
	for (i = 0; i < test_scale(200); i++) {
		k = test_below(&lots, OTHERS);
		if (!there[k]) {
			ASSERT_EQ(0, start_other(&c[k], &parent));
		} else {
			switch (test_below(&lots, 3)) {
			case 0:
				raw_abort(c[k].fd[test_below(&lots, NODES)], 1);
				break;
			case 1:
				EXPECT_EQ(0, test_good(&c[k]));
				break;
			}
			raw_stop(&c[k]);
		}
		there[k] = !there[k];
		if (test_below(&lots, 2))
			EXPECT_EQ(0, test_good(&parent));
	}
	for (k = 0; k < OTHERS; k++)
		if (there[k])
			raw_stop(&c[k]);
	EXPECT_EQ(0, test_good(&parent));
	raw_stop(&parent);
}

TEST_HARNESS_MAIN
