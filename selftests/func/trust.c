// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays a peer node that has the key and is hostile. After an op has ended it finds
 * nothing in its sockets that was written to the buffer later. Its frames do not end the op
 * early, and an impossible one is EPROTO.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define PARAM	"/sys/module/coll/parameters/send_mode"
#define COUNT	(2 * 1024 * 1024 / 4)
#define LARGE	(4 * COLL_WIRE_WINDOW / 4)
#define OLD	0x6f6f6f6f
#define LATER	0x53535353
/* The largest frame of DATA that the sender makes by itself. */
#define FRAME	(COLL_WIRE_HDR + (256 << 10))

static const char * const modes[] = { "copy", "splice", "ubuf", "auto" };

static bool write_mode(const char *mode)
{
	int fd = open(PARAM, O_WRONLY);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, mode, strlen(mode)) == (ssize_t)strlen(mode);
	close(fd);
	return ok;
}

FIXTURE(trust)
{
	struct peer p;
	struct peer_op o;
	char was[32];
	int32_t *mem;
};

/* Root only: others cannot set the mode. */
FIXTURE_SETUP(trust)
{
	int fd = open(PARAM, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, self->was, sizeof(self->was) - 1);

	if (fd >= 0)
		close(fd);
	ASSERT_GT(n, 0);
	self->was[strcspn(self->was, "\n")] = 0;
	if (!write_mode(self->was))
		SKIP(return, "send_mode cannot be set");
}

FIXTURE_TEARDOWN(trust)
{
	write_mode(self->was);
}

/* The peer says that it is there: nothing is sent to it before. */
static void let_go(struct peer *p, struct peer_op *o)
{
	struct pollfd pfd = { .fd = p->sock[1], .events = POLLIN };
	uint8_t token[COLL_WIRE_HDR];

	peer_write(p, 1, token, peer_put_op(p, &o->cmd, 1, 4096, token));
	poll(&pfd, 1, 10000);
	test_sleep_us(200000);
}

/* A broadcast of 2 MiB that the peer is to get, and does not read. */
static bool start(struct peer *p, struct peer_op *o, const char *mode, uint64_t timeout)
{
	int room = 8 << 20;
	size_t i;

	if (!write_mode(mode) || peer_start(p, true))
		return false;
	/* The stack sends all of it at once. */
	setsockopt(p->sock[1], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (!peer_op_init(o, p, PEER_BCAST_OUT, COUNT, timeout))
		return false;
	for (i = 0; i < COUNT; i++)
		((int32_t *)o->out.mem)[i] = OLD;
	if (!peer_op_start(o, p))
		return false;
	let_go(p, o);
	return true;
}

/* Read all there is on the data stream. Return: bytes of what was written later. */
static size_t read_later(struct peer *p, size_t *old)
{
	static uint8_t buf[65536];
	size_t later = 0;
	ssize_t n, i;

	for (*old = 0; ; ) {
		n = recv(p->sock[1], buf, sizeof(buf), MSG_DONTWAIT);
		if (n <= 0)
			return later;
		for (i = 0; i < n; i++) {
			later += buf[i] == (uint8_t)LATER;
			*old += buf[i] == (uint8_t)OLD;
		}
		/* TCP sends the rest when there is room. */
		if (n < (ssize_t)sizeof(buf))
			test_sleep_us(20000);
	}
}

/* The op has ended with @error: nothing newer than it may be seen. */
static void check(struct __test_metadata *_metadata, struct peer *p, struct peer_op *o,
		  const char *mode)
{
	size_t i, later, old;

	for (i = 0; i < COUNT; i++)
		((int32_t *)o->out.mem)[i] = LATER;
	test_sleep_us(100000);
	later = read_later(p, &old);
	/* Bytes of frame headers may have any value. */
	EXPECT_GT(2048, later);
	EXPECT_LT(0, old) TH_LOG("%s: nothing was sent", mode);
	TH_LOG("%s: read %zu bytes of the op, %zu written later", mode, old, later);
	EXPECT_EQ(0, peer_op_exit(o));
	peer_stop(p);
}

TEST_F(trust, abort_without_reading)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];
	size_t m;

	for (m = 0; m < 4; m++) {
		ASSERT_TRUE(start(&self->p, &self->o, modes[m], 10 * SECOND));
		peer_write(&self->p, 0, buf, peer_put_abort(&self->p, &cause, buf));
		/* The op may have ended well before the ABORT: a copy is sent at once. */
		peer_op_wait(&self->o);
		check(_metadata, &self->p, &self->o, modes[m]);
	}
}

static void ack(struct peer *p, uint64_t offset)
{
	uint8_t buf[COLL_WIRE_HDR];
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_ACK, 0);
	f.offset = offset;
	coll_wire_put_header(buf, &f);
	peer_write(p, 0, buf, sizeof(buf));
}

/* The peer says that it has consumed everything, frame by frame, and reads nothing. */
TEST_F(trust, ack_without_reading)
{
	size_t m, k;

	for (m = 0; m < 4; m++) {
		ASSERT_TRUE(start(&self->p, &self->o, modes[m], 3 * SECOND));
		for (k = 1; k <= 2; k++) {
			test_sleep_us(100000);
			ack(&self->p, k * FRAME);
		}
		/* ACK, an ACK that was found to be a lie, or the deadline may end the op. */
		peer_op_wait(&self->o);
		check(_metadata, &self->p, &self->o, modes[m]);
	}
}

/* The peer's socket has little room: the rest of a frame waits, and an ACK of it is a lie. */
TEST_F(trust, ack_of_what_is_not_sent)
{
	struct pollfd pfd = { .events = POLLIN };
	int room = 4096;
	struct coll_status s;

	ASSERT_TRUE(write_mode("copy"));
	ASSERT_EQ(0, peer_start(&self->p, true));
	setsockopt(self->p.sock[1], SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	/* More than the window: it cannot end before the peer has acknowledged some of it. */
	ASSERT_TRUE(peer_op_init(&self->o, &self->p, PEER_BCAST_OUT, LARGE, 10 * SECOND));
	ASSERT_TRUE(peer_op_start(&self->o, &self->p));
	let_go(&self->p, &self->o);
	/* The first byte of the frame has been sent, the last one has not. */
	pfd.fd = self->p.sock[1];
	ASSERT_EQ(1, poll(&pfd, 1, 10000));
	ack(&self->p, 1);
	test_sleep_us(100000);
	ASSERT_EQ(0, raw_status(self->p.c.fd[0], &s));
	EXPECT_EQ(0, s.cause.error);
	ack(&self->p, FRAME);
	EXPECT_EQ(-EPROTO, peer_op_wait(&self->o));
	ASSERT_EQ(0, raw_status(self->p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	EXPECT_EQ(0, peer_op_exit(&self->o));
	peer_stop(&self->p);
}

/* A program cannot lend: there is no channel of this kernel behind it. */
TEST_F(trust, loan_by_a_program)
{
	uint8_t buf[COLL_WIRE_HDR + 4096];
	struct coll_frame f;
	struct coll_status s;

	ASSERT_EQ(0, peer_start(&self->p, true));
	ASSERT_TRUE(peer_op_init(&self->o, &self->p, PEER_BCAST_IN, 1000, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&self->o, &self->p));
	peer_put_op(&self->p, &self->o.cmd, 1, 4096, buf);
	ASSERT_EQ(0, coll_wire_get_header(buf, &f));
	f.flags |= COLL_FRAME_LOAN;
	coll_wire_put_header(buf, &f);
	test_sleep_us(2000);
	peer_write(&self->p, 1, buf, COLL_WIRE_HDR);
	EXPECT_EQ(-EPROTO, peer_op_wait(&self->o));
	ASSERT_EQ(0, raw_status(self->p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	EXPECT_EQ(1, s.cause.node);
	EXPECT_EQ(0, peer_op_exit(&self->o));
	peer_stop(&self->p);
}

/* Errno of a communicator that is to fail; 0: it has not within 10 s. */
static uint32_t failure(int fd)
{
	uint64_t until = test_now_ns() + 10 * SECOND;
	struct coll_status s;

	while (!raw_status(fd, &s) && !s.cause.error && test_now_ns() < until)
		test_sleep_us(1000);
	return s.cause.error;
}

/* An honest peer may have closed the communicator of a loan: the others on the streams go on. */
TEST(loan_beside_another)
{
	static struct peer first, second;
	uint8_t buf[COLL_WIRE_HDR + 4096];
	struct coll_status s;
	struct coll_frame f;
	struct peer_op o;

	ASSERT_EQ(0, peer_start(&first, true));
	ASSERT_EQ(0, peer_second(&second, &first));
	ASSERT_EQ(0, raw_share(second.c.fd[0], 1, first.c.fd[0], 1));
	ASSERT_TRUE(peer_second_establish(&second, &first));
	peer_frame(&second, &f, COLL_FRAME_DATA, 4096);
	f.seq = 1;
	f.signature = 7;
	f.flags |= COLL_FRAME_LOAN;
	coll_wire_put_header(buf, &f);
	ASSERT_TRUE(peer_write(&second, 1, buf, COLL_WIRE_HDR));
	EXPECT_EQ(EPROTO, failure(second.c.fd[0]));
	ASSERT_EQ(0, raw_status(first.c.fd[0], &s));
	EXPECT_EQ(0, s.cause.error);
	ASSERT_TRUE(peer_op_init(&o, &first, PEER_BCAST_IN, 1000, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &first));
	ASSERT_NE(0, peer_put_op(&first, &o.cmd, 1, 4000, buf));
	ASSERT_TRUE(peer_write(&first, 1, buf, COLL_WIRE_HDR + 4000));
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_leave(&second);
	peer_stop(&first);
}

TEST_HARNESS_MAIN
