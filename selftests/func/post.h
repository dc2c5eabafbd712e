/* SPDX-License-Identifier: GPL-2.0 */
/* Two ranks of one process post and collect their commands. */
#ifndef POST_H
#define POST_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define MS	1000000ULL

static struct raw_comm c;

/* Post @nr commands with tags from @tag on. Return: how many have been posted, or -errno. */
static inline int post_cmds(int fd, struct coll_cmd *cmd, uint32_t nr, uint64_t tag)
{
	static struct coll_post_entry e[COLL_POST_MAX];
	struct coll_post p = { .entries = (uintptr_t)e, .nr = nr };
	uint32_t i;
	int ret;

	for (i = 0; i < nr; i++)
		e[i] = (struct coll_post_entry){
			.arg = (uintptr_t)&cmd[i], .len = sizeof(cmd[i]), .tag = tag + i,
		};
	ret = ioctl(fd, COLL_IOC_POST, &p);
	return ret < 0 ? -errno : ret;
}

/*
 * Collect one command. Return: its result, -ETIME if none completes in ten seconds, -EXDEV if
 * it is not that of @tag.
 */
static inline int post_result(int fd, uint64_t tag)
{
	struct coll_completion got = { };
	int ret = raw_collect_cmds(fd, &got, 1, 1, 10000 * MS);

	if (ret != 1)
		return ret ? ret : -ETIME;
	return got.tag == tag && !got.reserved ? got.result : -EXDEV;
}

/* Post a message. Return: as post_cmds(). */
static inline int post_send(uint32_t from, uint32_t to, uint32_t tag, const void *buf,
			    uint64_t bytes)
{
	struct coll_cmd cmd;

	raw_send(&cmd, buf, bytes, COLL_BYTE, to, tag);
	cmd.handle = tag + 1;
	return post_cmds(c.fd[from], &cmd, 1, tag);
}

static inline int post_recv(uint32_t to, uint32_t from, uint32_t tag, void *buf, uint64_t bytes,
			    struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_recv(&cmd, buf, bytes, COLL_BYTE, from, tag, got);
	cmd.handle = tag + 1;
	return post_cmds(c.fd[to], &cmd, 1, tag);
}

FIXTURE(post) {
	uint32_t nodes;
};

FIXTURE_VARIANT(post) {
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(post, node) { .nodes = 1 };
FIXTURE_VARIANT_ADD(post, nodes) { .nodes = 2 };

FIXTURE_SETUP(post)
{
	self->nodes = variant->nodes;
	ASSERT_TRUE(raw_features() & COLL_FEAT_POST);
	ASSERT_EQ(0, raw_start(&c, 2, variant->nodes));
}

FIXTURE_TEARDOWN(post)
{
	raw_stop(&c);
}

#endif /* POST_H */
