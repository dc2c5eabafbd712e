// SPDX-License-Identifier: GPL-2.0
/*
 * Probes and matched probes: what is found is what a receive would get, what is taken is
 * received once, and nothing is left behind when a rank goes.
 */
#include <pthread.h>
#include <signal.h>

#include "harness.h"
#include "procs.h"
#include "talk.h"
#include "util.h"

#define MS		1000000ULL
#define SETUP_MS	20000
/* Probes that wait for one message: three slices of the kernel's. */
#define CROWD		200

/* Ranks and nodes: the ranks that talk are on one node, or not. */
static const struct { uint32_t size, nodes; } shapes[] = {
	{ 2, 1 }, { 4, 1 }, { 2, 2 }, { 4, 2 },
};

#define FOR_SHAPES(last)						\
	for (unsigned int sh = 0; sh < sizeof(shapes) / sizeof(shapes[0]); sh++) \
		for (uint32_t last = shapes[sh].size - 1, once = 1; once--; )

static struct talk t;

/* Without waiting. Return: 0, or -errno. */
static int look(uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
		struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_probe(&cmd, what, source, tag, got);
	cmd.flags = COLL_CMD_NOWAIT;
	return raw_submit(t.c.fd[rank], &cmd);
}

/* Until it is there: an offer takes its time from one node to another. */
static int look_long(uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
		     struct coll_message *got)
{
	unsigned int ms;
	int ret = -ENOMSG;

	for (ms = 0; ret == -ENOMSG && ms < 10000; ms++) {
		ret = look(rank, what, source, tag, got);
		if (ret)
			test_sleep_us(1000);
	}
	return ret;
}

static unsigned int probe(uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
			  struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_probe(&cmd, what, source, tag, got);
	return talk_post(&t, rank, &cmd);
}

static unsigned int mrecv(uint32_t rank, uint64_t id, void *buf, uint64_t bytes,
			  struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_mrecv(&cmd, buf, bytes, COLL_BYTE, id, got);
	return talk_post(&t, rank, &cmd);
}

/* The oldest that fits, by source, tag, both or neither; and nothing is taken. */
TEST(order)
{
	int32_t v[4] = { 10, 11, 12, 13 }, o[4] = { };
	struct coll_message got;
	unsigned int s[4], i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		EXPECT_EQ(-ENOMSG, look(last, COLL_PROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got));
		for (i = 0; i < 4; i++) {
			/* one after the other, so that the order is known */
			s[i] = talk_send(&t, 0, last, i, &v[i], i + 1);
			ASSERT_EQ(0, look_long(last, COLL_PROBE, 0, i, &got));
			EXPECT_EQ(i + 1, got.bytes);
			EXPECT_EQ(0, got.id);
		}
		ASSERT_EQ(0, look(last, COLL_PROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got));
		EXPECT_TRUE(!got.tag && !got.source && got.bytes == 1 && got.dtype == COLL_BYTE);
		ASSERT_EQ(0, look(last, COLL_PROBE, COLL_RANK_ANY, 2, &got));
		EXPECT_TRUE(got.tag == 2 && !got.source && got.bytes == 3);
		ASSERT_EQ(0, look(last, COLL_PROBE, 0, COLL_TAG_ANY, &got));
		EXPECT_EQ(0, got.tag);
		EXPECT_EQ(-ENOMSG, look(last, COLL_PROBE, 0, 4, &got));
		EXPECT_EQ(-ENOMSG, look(last, COLL_PROBE, last, COLL_TAG_ANY, &got));

		/* taken out of the middle: the others do not see it, and keep their order */
		ASSERT_EQ(0, look(last, COLL_MPROBE, COLL_RANK_ANY, 1, &got));
		EXPECT_TRUE(got.tag == 1 && got.bytes == 2 && got.id);
		EXPECT_EQ(-ENOMSG, look(last, COLL_PROBE, 0, 1, &got));
		for (i = 0; i < 4; i++) {
			if (i == 1)
				continue;
			EXPECT_EQ(0, talk_result(&t, last, talk_recv(&t, last, COLL_RANK_ANY,
								     COLL_TAG_ANY, &o[i], 4, &got)));
			EXPECT_EQ(i, got.tag);
			EXPECT_EQ(0, talk_result(&t, 0, s[i]));
		}
		EXPECT_EQ(-ENOMSG, look(last, COLL_PROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got));
		EXPECT_TRUE(talk_pending(&t, 0, s[1]));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* Received by its id, once; a wrong id, one of another rank, and too little room. */
TEST(matched)
{
	int32_t v[2] = { 5, 6 }, o = 0;
	struct coll_message got, took;
	unsigned int s[2];

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s[0] = talk_send(&t, 0, last, 7, &v[0], 4);
		ASSERT_EQ(0, look_long(last, COLL_MPROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got));
		s[1] = talk_send(&t, 0, last, 7, &v[1], 4);
		EXPECT_EQ(-ENOENT, talk_result(&t, last, mrecv(last, got.id + 1, &o, 4, NULL)));
		EXPECT_EQ(-ENOENT, talk_result(&t, 0, mrecv(0, got.id, &o, 4, NULL)));
		EXPECT_EQ(0, talk_result(&t, last, mrecv(last, got.id, &o, 4, &took)));
		EXPECT_EQ(5, o);
		EXPECT_TRUE(!took.source && took.tag == 7 && took.bytes == 4 && !took.id);
		EXPECT_EQ(0, talk_result(&t, 0, s[0]));
		EXPECT_EQ(-ENOENT, talk_result(&t, last, mrecv(last, got.id, &o, 4, NULL)));

		ASSERT_EQ(0, look_long(last, COLL_MPROBE, 0, 7, &got));
		EXPECT_EQ(-EMSGSIZE, talk_result(&t, last, mrecv(last, got.id, &o, 3, &took)));
		EXPECT_EQ(4, took.bytes);
		EXPECT_EQ(-EMSGSIZE, talk_result(&t, 0, s[1]));
		EXPECT_EQ(-ENOENT, talk_result(&t, last, mrecv(last, got.id, &o, 4, NULL)));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* Probes that wait: all of them see what comes, one matched probe takes it. */
TEST(waiting)
{
	struct coll_message got[4], took[2];
	unsigned int p[4], m[2], s[2], i;
	int32_t v[2] = { 1, 2 }, o = 0;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++)
			p[i] = probe(last, COLL_PROBE, i & 1 ? 0 : COLL_RANK_ANY,
				     i & 2 ? 3 : COLL_TAG_ANY, &got[i]);
		EXPECT_TRUE(talk_pending(&t, last, p[3]));
		s[0] = talk_send(&t, 0, last, 3, &v[0], 4);
		for (i = 0; i < 4; i++) {
			EXPECT_EQ(0, talk_result(&t, last, p[i]));
			EXPECT_TRUE(!got[i].source && got[i].tag == 3 && got[i].bytes == 4);
		}
		EXPECT_EQ(0, talk_result(&t, last, talk_recv(&t, last, 0, 3, &o, 4, NULL)));
		EXPECT_EQ(1, o);

		/* two that take, and a third one that sees nothing */
		for (i = 0; i < 2; i++)
			m[i] = probe(last, COLL_MPROBE, COLL_RANK_ANY, 3 + i, &took[i]);
		p[0] = probe(last, COLL_PROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got[0]);
		s[1] = talk_send(&t, 0, last, 4, &v[1], 4);
		EXPECT_EQ(0, talk_result(&t, last, m[1]));
		EXPECT_TRUE(talk_pending(&t, last, m[0]));
		EXPECT_TRUE(talk_pending(&t, last, p[0]));
		EXPECT_EQ(0, talk_result(&t, last, mrecv(last, took[1].id, &o, 4, NULL)));
		EXPECT_EQ(2, o);
		for (i = 0; i < 2; i++)
			EXPECT_EQ(0, talk_result(&t, 0, s[i]));
		EXPECT_EQ(0, talk_cancel(&t, last, m[0]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, m[0]));
		EXPECT_EQ(1, raw_cancel_receives(t.c.fd[last]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, p[0]));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* More probes than are completed at once: all see the one message, before it is received. */
TEST(many_wait)
{
	struct coll_message got[CROWD], late;
	unsigned int p[CROWD], after, s, i;
	int32_t v = 9, o = 0;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < CROWD; i++)
			p[i] = probe(last, COLL_PROBE, i & 1 ? 0 : COLL_RANK_ANY,
				     i & 2 ? 3 : COLL_TAG_ANY, &got[i]);
		s = talk_send(&t, 0, last, 3, &v, 4);
		/* it is there: an offer takes its time from one node to another */
		ASSERT_EQ(0, talk_result(&t, last, p[0]));
		EXPECT_EQ(0, talk_result(&t, last, talk_recv(&t, last, 0, 3, &o, 4, NULL)));
		after = probe(last, COLL_PROBE, 0, 3, &late);
		for (i = 0; i < CROWD; i++) {
			ASSERT_EQ(0, talk_result(&t, last, p[i])) TH_LOG("%u", i);
			ASSERT_TRUE(!got[i].source && got[i].tag == 3 && got[i].bytes == 4);
		}
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(9, o);
		EXPECT_TRUE(talk_pending(&t, last, after));
		EXPECT_EQ(0, talk_cancel(&t, last, after));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, after));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* A rank sends to itself, and probes for that. */
TEST(self)
{
	struct coll_message got;
	int32_t v = 9, o = 0;
	unsigned int s;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, last, last, 1, &v, 4);
		ASSERT_EQ(0, look(last, COLL_PROBE, COLL_RANK_ANY, 1, &got));
		EXPECT_EQ(last, got.source);
		ASSERT_EQ(0, look(last, COLL_MPROBE, last, COLL_TAG_ANY, &got));
		EXPECT_EQ(0, talk_result(&t, last, mrecv(last, got.id, &o, 4, NULL)));
		EXPECT_EQ(0, talk_result(&t, last, s));
		EXPECT_EQ(9, o);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* A probed message may be cancelled, one that has been taken may not. */
TEST(cancelled)
{
	struct coll_message got;
	int32_t v = 4, o = 0;
	unsigned int s, r;
	int ret;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, 0, last, 1, &v, 4);
		ASSERT_EQ(0, look_long(last, COLL_PROBE, 0, 1, &got));
		EXPECT_EQ(0, talk_cancel(&t, 0, s));
		EXPECT_EQ(-ECANCELED, talk_result(&t, 0, s));
		EXPECT_EQ(-ENOMSG, look(last, COLL_MPROBE, 0, 1, &got));

		s = talk_send(&t, 0, last, 1, &v, 4);
		ASSERT_EQ(0, look_long(last, COLL_MPROBE, 0, 1, &got));
		/* Another node is asked, and does not answer before the message is received. */
		ret = talk_cancel(&t, 0, s);
		EXPECT_EQ(t.c.node_of[0] == t.c.node_of[last] ? -EALREADY : 0, ret);
		EXPECT_TRUE(talk_pending(&t, 0, s));
		r = mrecv(last, got.id, &o, 4, NULL);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(4, o);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* Probes and senders when their partner leaves in order. */
TEST(partner_leaves)
{
	struct coll_message got;
	unsigned int p[2], s;
	int32_t v = 4;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, 0, last, 1, &v, 4);
		ASSERT_EQ(0, look_long(last, COLL_MPROBE, 0, 1, &got));
		p[0] = probe(0, COLL_PROBE, last, 1, &got);
		p[1] = probe(0, COLL_MPROBE, last, 1, &got);
		close(t.c.fd[last]);
		t.c.fd[last] = -1;
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, s));
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, p[0]));
		EXPECT_EQ(-EHOSTDOWN, talk_result(&t, 0, p[1]));
		EXPECT_EQ(-EHOSTDOWN, look(0, COLL_PROBE, last, 1, &got));
		talk_stop(&t);
	}
}

/* As of a receive: the communicator fails, and the cause names who did not send. */
TEST(deadline)
{
	struct coll_message got;
	struct coll_status s;
	struct coll_cmd cmd;
	uint64_t begin;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_probe(&cmd, sh & 1 ? COLL_PROBE : COLL_MPROBE, last, 1, &got);
		cmd.timeout_ns = 100 * MS;
		begin = test_now_ns();
		EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
		EXPECT_LE(99 * MS, test_now_ns() - begin);
		EXPECT_GE((100 + 10 * test_bound_ms()) * MS, test_now_ns() - begin);
		ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
		EXPECT_EQ(last, s.cause.rank);
		EXPECT_EQ(-ETIMEDOUT, look(0, COLL_PROBE, last, 1, &got));
		talk_stop(&t);
	}
}

#define REFUSED(err, what, change) do {					\
	struct coll_cmd cmd;						\
	raw_probe(&cmd, what, 1, 0, &got);				\
	cmd.flags = COLL_CMD_NOWAIT;					\
	change;								\
	EXPECT_EQ(-(err), raw_submit(t.c.fd[0], &cmd)) TH_LOG(#what ": " #change); \
} while (0)

TEST(refused)
{
	struct coll_message got;
	unsigned int i, what;
	int32_t o;

	ASSERT_EQ(0, talk_start(&t, 2, 1));
	for (what = COLL_PROBE; what <= COLL_MPROBE; what++) {
		REFUSED(ENOMSG, what, );
		REFUSED(EINVAL, what, cmd.dtype = COLL_BYTE);
		REFUSED(EINVAL, what, cmd.count = 1);
		REFUSED(EINVAL, what, cmd.recv_addr = (uintptr_t)&o);
		REFUSED(EINVAL, what, cmd.send_addr = (uintptr_t)&o);
		REFUSED(EINVAL, what, cmd.recv_count = 1);
		REFUSED(EINVAL, what, cmd.recv_dtype = COLL_BYTE);
		REFUSED(EINVAL, what, cmd.root = 1);
		REFUSED(EINVAL, what, cmd.send_tag = 1);
		REFUSED(EINVAL, what, cmd.matched = 1);
		REFUSED(EINVAL, what, cmd.recv_buf = 1);
		REFUSED(EINVAL, what, cmd.source = 2);
		REFUSED(EINVAL, what, cmd.recv_tag = COLL_TAG_MAX + 1U);
		REFUSED(EFAULT, what, cmd.message_addr = 8);
		for (i = 0; i < 32; i++)
			if (!((1U << i) & (COLL_CMD_NOWAIT | COLL_CMD_SPIN | COLL_CMD_SLEEP)))
				REFUSED(EINVAL, what, cmd.flags |= 1U << i);
	}
	REFUSED(EINVAL, COLL_MPROBE, cmd.message_addr = 0);
	REFUSED(ENOMSG, COLL_PROBE, cmd.message_addr = 0);
	REFUSED(EINVAL, COLL_BARRIER, cmd.source = cmd.message_addr = 0);
	REFUSED(EINVAL, COLL_BARRIER, cmd.source = cmd.message_addr = cmd.flags = 0;
		cmd.matched = 1);
	REFUSED(EINVAL, COLL_RECV, cmd.dtype = COLL_BYTE; cmd.flags = 0; cmd.matched = 1);
	REFUSED(EINVAL, COLL_MRECV, cmd.dtype = COLL_BYTE; cmd.flags = 0; cmd.source = 0);
	REFUSED(EINVAL, COLL_MRECV, cmd.dtype = COLL_BYTE; cmd.flags = 0; cmd.matched = 1);
	/* nobody's message */
	EXPECT_EQ(0, look(0, COLL_PROBE, COLL_RANK_NULL, 1, &got));
	EXPECT_TRUE(got.source == COLL_RANK_NULL && got.tag == COLL_TAG_ANY && !got.bytes);
	EXPECT_EQ(0, look(0, COLL_MPROBE, COLL_RANK_NULL, 1, &got));
	EXPECT_EQ(COLL_MESSAGE_NULL, got.id);
	REFUSED(0, COLL_MRECV, cmd.dtype = COLL_BYTE; cmd.flags = cmd.source = 0;
		cmd.matched = COLL_MESSAGE_NULL);
	EXPECT_EQ(COLL_RANK_NULL, got.source);
	EXPECT_EQ(0, test_good(&t.c));
	talk_stop(&t);
}

#define THREADS		4
#define EACH		(TALK_CMDS / THREADS)

struct taker {
	pthread_t thread;
	uint32_t rank;
	unsigned int done;
	uint64_t sum;
	int ret;
};

/* Probe, receive what was found: nobody else may have got it. */
static void *take_all(void *arg)
{
	struct taker *k = arg;
	struct coll_message got, took;
	struct coll_cmd cmd;
	uint32_t o[2];

	for (k->done = 0; !k->ret && k->done < EACH; k->done++) {
		raw_probe(&cmd, COLL_MPROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got);
		cmd.timeout_ns = 60000 * MS;
		k->ret = raw_submit(t.c.fd[k->rank], &cmd);
		if (k->ret)
			break;
		raw_mrecv(&cmd, o, got.bytes, COLL_BYTE, got.id, &took);
		k->ret = raw_submit(t.c.fd[k->rank], &cmd);
		if (!k->ret && (took.tag != got.tag || took.bytes != got.bytes || o[0] != got.tag))
			k->ret = -EBADMSG;
		k->sum += got.tag;
	}
	return NULL;
}

TEST(several_threads)
{
	static uint32_t v[TALK_CMDS][2];
	struct taker k[THREADS];
	uint64_t sum, want = 0;
	unsigned int i;

	for (i = 0; i < TALK_CMDS; i++) {
		v[i][0] = i;
		want += i;
	}
	FOR_SHAPES(last) {
		sum = 0;
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < THREADS; i++) {
			k[i] = (struct taker){ .rank = last };
			ASSERT_EQ(0, pthread_create(&k[i].thread, NULL, take_all, &k[i]));
		}
		for (i = 0; i < TALK_CMDS; i++)
			talk_send(&t, 0, last, i, v[i], 4 + i % 5);
		for (i = 0; i < TALK_CMDS; i++)
			EXPECT_EQ(0, talk_result(&t, 0, i));
		for (i = 0; i < THREADS; i++) {
			pthread_join(k[i].thread, NULL);
			EXPECT_EQ(0, k[i].ret);
			sum += k[i].sum;
		}
		EXPECT_EQ(want, sum);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* Rank 0 sends; the last one takes the messages, and is killed before it receives them. */
static void ops_taken(struct procs *p, uint32_t rank)
{
	uint32_t last = p->c.size - 1;
	struct coll_message got;
	struct coll_cmd cmd;
	static int32_t v;

	if (rank && rank != last) {
		pause();
		return;
	}
	if (!rank) {
		raw_send(&cmd, &v, 1, COLL_I32, last, 1);
		procs_result(p, rank, raw_submit(p->c.fd[rank], &cmd));
		return;
	}
	raw_probe(&cmd, COLL_MPROBE, COLL_RANK_ANY, 1, &got);
	p->sh->rank[rank].result = raw_submit(p->c.fd[rank], &cmd);
	p->sh->rank[rank].done = 1;
	pause();
}

TEST(killed_before_it_receives)
{
	static struct procs p;
	unsigned int ms;
	uint64_t when;

	FOR_SHAPES(last) {
		memset(&p, 0, sizeof(p));
		p.ops = ops_taken;
		ASSERT_EQ(0, procs_start(&p, shapes[sh].size, shapes[sh].nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
		p.sh->go = 1;
		for (ms = 0; ms < SETUP_MS && !p.sh->rank[last].done; ms++)
			test_sleep_us(1000);
		ASSERT_EQ(1, p.sh->rank[last].done);
		EXPECT_EQ(0, p.sh->rank[last].result);
		EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
		when = test_now_ns();
		kill(p.pid[last], SIGKILL);
		for (ms = 0; ms < SETUP_MS && p.sh->rank[0].phase != PROCS_ENDED; ms++)
			test_sleep_us(1000);
		ASSERT_EQ(PROCS_ENDED, p.sh->rank[0].phase);
		EXPECT_EQ(-EHOSTDOWN, p.sh->rank[0].result);
		EXPECT_EQ(COLL_CAUSE_EXIT, p.sh->rank[0].status.cause.kind);
		EXPECT_EQ(last, p.sh->rank[0].status.cause.rank);
		EXPECT_EQ(SIGKILL, p.sh->rank[0].status.cause.signal);
		EXPECT_FALSE(test_late(when, p.sh->rank[0].when));
		procs_stop(&p);
	}
}

static void *wake_up_often(void *arg)
{
	pthread_t to = *(pthread_t *)arg;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		test_sleep_us(1000);
		pthread_kill(to, SIGUSR1);
	}
	return NULL;
}

static volatile unsigned int handled;

static void count_signal(int sig)
{
	handled++;
}

/* Signal handlers run while a probe waits, and its deadline does not begin anew. */
TEST(interrupted)
{
	struct sigaction sa = { .sa_handler = count_signal };
	pthread_t self_ = pthread_self(), th;
	struct coll_message got;
	struct coll_cmd cmd;
	uint64_t begin;

	sigaction(SIGUSR1, &sa, NULL);
	ASSERT_EQ(0, talk_start(&t, 2, 2));
	ASSERT_EQ(0, pthread_create(&th, NULL, wake_up_often, &self_));
	raw_probe(&cmd, COLL_MPROBE, 1, 1, &got);
	cmd.timeout_ns = 200 * MS;
	begin = test_now_ns();
	EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
	EXPECT_GE((200 + 10 * test_bound_ms()) * MS, test_now_ns() - begin);
	pthread_join(th, NULL);
	EXPECT_LE(10, handled);
	talk_stop(&t);
}

TEST_HARNESS_MAIN
