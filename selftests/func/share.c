// SPDX-License-Identifier: GPL-2.0
/* Links that communicators share: COLL_LINK_SHARE. Each of them works, whichever ends first. */
#include "share.h"

#define OTHERS	4

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
