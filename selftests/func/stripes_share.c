// SPDX-License-Identifier: GPL-2.0
/*
 * A communicator works by all links of its parent, which it shares by COLL_LINK_SHARE. Numbers of
 * links that the parent does not have, or that are taken, are refused.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include "stripes.h"

static bool share_all(struct raw_comm *child, const struct raw_comm *parent, uint32_t links)
{
	uint32_t k, r;

	raw_plan(child, parent->size, parent->nodes);
	for (r = 0; r < child->size; r++) {
		child->fd[r] = raw_open();
		if (child->fd[r] < 0 || raw_join(child->fd[r], child, r))
			return false;
	}
	for (k = 0; k < links; k++) {
		for (r = 0; r < 2; r++) {
			struct coll_link_add l = {
				.peer = !r, .fd = parent->fd[r], .flags = COLL_LINK_SHARE,
				.parent_peer = !r, .stripe = 2 * k,
			};

			if (ioctl(child->fd[r], COLL_IOC_LINK, &l))
				return false;
		}
	}
	return true;
}

/* The child works by the links of its parent, also when the parent has ended. */
TEST(shared)
{
	struct coll_link_add l = { .peer = 1, .flags = COLL_LINK_SHARE, .parent_peer = 1 };
	struct raw_comm parent, child;

	ASSERT_EQ(0, raw_start_links(&parent, 2, 2, 3));
	ASSERT_EQ(0, raw_stripes(&parent, 3, LEAST));
	EXPECT_EQ(0, sum(&parent, COUNT));
	ASSERT_TRUE(share_all(&child, &parent, 3));
	l.fd = parent.fd[0];
	l.stripe = 5;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(EINVAL, errno);
	l.stripe = COLL_MAX_STRIPES;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(EINVAL, errno);
	l.stripe = 6;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(ENOTCONN, errno);
	l.stripe = 4;
	EXPECT_EQ(-1, ioctl(child.fd[0], COLL_IOC_LINK, &l));
	EXPECT_EQ(EEXIST, errno);
	ASSERT_EQ(0, raw_stripes(&child, 3, LEAST));
	EXPECT_EQ(0, sum(&child, COUNT));
	EXPECT_EQ(0, sum(&parent, 100003));
	raw_stop(&parent);
	EXPECT_EQ(0, sum(&child, 100003));
	raw_stop(&child);
}

TEST_HARNESS_MAIN
