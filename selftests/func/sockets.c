// SPDX-License-Identifier: GPL-2.0
/* Sockets as users hand them over, with options of theirs, and as they get them back. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define STREAMS	2
/* More than any frame of these tests has. */
#define MUCH	(1 << 20)
#define COUNT	1000

static int low_water(int fd)
{
	socklen_t len = sizeof(int);
	int n = -1;

	return getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &n, &len) ? -errno : n;
}

/* Two nodes of a rank each over sockets that are kept in @sv. Return: 0 or -errno. */
static int start(struct raw_comm *c, int sv[STREAMS][2], int mark)
{
	int ret = 0, s, node;

	raw_plan(c, 2, 2);
	for (node = 0; node < 2 && !ret; node++) {
		c->fd[node] = raw_open();
		ret = c->fd[node] < 0 ? c->fd[node] : raw_join(c->fd[node], c, node);
	}
	for (s = 0; s < STREAMS && !ret; s++) {
		ret = raw_tcp_pair(sv[s]);
		for (node = 0; node < 2 && !ret; node++) {
			if (setsockopt(sv[s][node], SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)))
				return -errno;
			ret = raw_link(c->fd[node], !node, sv[s][node], s);
		}
	}
	return ret;
}

/* One allreduce of both. Return: 0, an error, or 1 for wrong elements. */
static int sum(struct raw_comm *c, uint64_t count)
{
	static int32_t in[2][COUNT], out[2][COUNT];
	struct coll_cmd cmds[2];
	int results[2], ret;
	uint64_t r, i;

	for (r = 0; r < 2; r++) {
		for (i = 0; i < count; i++)
			in[r][i] = test_value(r, i);
		raw_allreduce(&cmds[r], in[r], out[r], count, COLL_I32, COLL_OP_SUM);
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < 2 && !ret; r++) {
		ret = results[r];
		for (i = 0; i < count && !ret; i++)
			ret = out[r][i] != test_value_sum(2, i);
	}
	return ret;
}

TEST(low_water_mark)
{
	int sv[STREAMS][2] = { { -1, -1 }, { -1, -1 } }, s, node, turn;
	struct raw_comm c;

	ASSERT_EQ(0, start(&c, sv, MUCH));
	for (turn = 0; turn < 3; turn++) {
		EXPECT_EQ(0, sum(&c, 1));
		EXPECT_EQ(0, sum(&c, COUNT));
	}
	raw_stop(&c);
	for (s = 0; s < STREAMS; s++) {
		for (node = 0; node < 2; node++) {
			struct timespec pause = { .tv_nsec = 10000000 };

			/* The group is reaped a moment after its last file has gone. */
			for (turn = 0; turn < 2000 && low_water(sv[s][node]) != MUCH; turn++)
				nanosleep(&pause, NULL);
			EXPECT_EQ(MUCH, low_water(sv[s][node]));
			close(sv[s][node]);
		}
	}
}

TEST_HARNESS_MAIN
