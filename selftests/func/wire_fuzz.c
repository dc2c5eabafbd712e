// SPDX-License-Identifier: GPL-2.0
/*
 * A peer whose bytes are right but for a few: bits flip, bytes go, come twice or
 * out of nowhere. The ops end, within their deadline and with an error of the
 * protocol or a result; nothing outside the buffers is written.
 */
#include "harness.h"
#include "peer.h"
#include "pure/schedule.h"

#define OPS		4
#define DEADLINE	500000000ULL

struct bytes {
	uint8_t mem[PEER_BYTES];
	size_t len;
};

/* One mutation. Return: its name. */
static const char *mutate(struct bytes *b, uint64_t *lots)
{
	size_t at = test_below(lots, b->len), n = 1 + test_below(lots, 64);

	if (n > b->len - at)
		n = b->len - at;
	switch (test_below(lots, 6)) {
	case 0:
	case 1:
		b->mem[at] ^= 1 << test_below(lots, 8);
		return "bit";
	case 2:
		b->mem[at] = test_rand(lots);
		return "byte";
	case 3:
		memmove(b->mem + at, b->mem + at + n, b->len - at - n);
		b->len -= n;
		return "loss";
	case 4:
		memmove(b->mem + at + n, b->mem + at, b->len - at);
		b->len += n;
		return "double";
	default:
		for (; n; n--)
			b->mem[at + n - 1] = test_rand(lots);
		return "junk";
	}
}

/* Flip a bit of the first header, but not of the flags of DATA, which ask for an ACK. */
static const char *mutate_header(struct bytes *b, uint64_t *lots)
{
	size_t at;

	do {
		at = test_below(lots, b->len < COLL_WIRE_HDR ? b->len : COLL_WIRE_HDR);
	} while (b->mem[5] == COLL_FRAME_DATA && (at == 6 || at == 7));
	b->mem[at] ^= 1 << test_below(lots, 8);
	return "header bit";
}

static bool error_fits(int result)
{
	switch (-result) {
	case 0:
	case EPROTO:
	case EBADE:
	case EHOSTDOWN:
	case ETIMEDOUT:
		return true;
	}
	return false;
}

/* the result of the bytes of one round */
struct fuzz_round {
	uint64_t seed;
	bool ctrl;
	unsigned int mutations;
	bool in_header;		/* there is one mutation, of a bit of a header */
	bool established, closed;
	bool lied;		/* the peer says BYE before it can have got what its ops need */
	const char *what;	/* the last mutation */
};

/* All is as it should be, as long as the stream is not closed. */
static bool nothing_wrong(const struct fuzz_round *f)
{
	return !f->mutations && !f->lied && (f->established || f->ctrl);
}

/* Make up to three mutations. A third of them are in the first header, which starts at 0. */
static void mutate_some(struct fuzz_round *f, struct bytes *b, uint64_t *lots)
{
	unsigned int i;
	bool header;

	f->what = "nothing";
	f->mutations = test_below(lots, 4);
	for (i = 0; i < f->mutations; i++) {
		header = !test_below(lots, 3);
		f->what = header ? mutate_header(b, lots) : mutate(b, lots);
		f->in_header = header && f->mutations == 1;
	}
}

/* POST for the first op, as a peer sends it that has been waiting in it. */
static size_t put_post(const struct peer *p, const struct coll_cmd *cmd, uint8_t *buf)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_POST, 0);
	f.seq = 1;
	f.signature = coll_signature(cmd->collective, cmd->op, cmd->dtype, cmd->algorithm,
				     cmd->root, cmd->count, 1);
	coll_wire_put_header(buf, &f);
	return COLL_WIRE_HDR;
}

/* All that the peer has to send for the ops of a round, on two streams: @b is to be changed. */
static void put_bytes(struct __test_metadata *_metadata, struct fuzz_round *f, struct peer *p,
		      struct peer_op *o, struct bytes *b, uint64_t *lots)
{
	uint8_t data[PEER_GREET];
	int i;

	b->len = 0;
	for (i = 0; i < OPS; i++) {
		uint32_t frame = 20 + test_below(lots, 700);

		ASSERT_TRUE(peer_op_init(&o[i], p, test_below(lots, PEER_NR_KINDS),
					 1 + test_below(lots, 500), DEADLINE));
		b->len += peer_put_op(p, &o[i].cmd, i + 1, frame, b->mem + b->len);
	}
	if (!f->ctrl)
		return;
	peer_write(p, 1, data, peer_put_greet(p, 1, data));
	peer_write(p, 1, b->mem, b->len);
	b->len = peer_put_greet(p, 0, b->mem);
	b->len += put_post(p, &o[0].cmd, b->mem + b->len);
	f->lied = test_below(lots, 2);
	if (f->lied)
		b->len += peer_put_bye(p, 1, OPS, b->mem + b->len);
}

/*
 * Has the real rank noticed? It must, if a header is not as it should be, and must not, if
 * nothing was changed. Else what was changed may be payload.
 */
static bool caught(struct __test_metadata *_metadata, struct fuzz_round *f, struct peer *p,
		   const struct peer_op *o)
{
	unsigned long long seed = f->seed;
	struct coll_status s;
	uint64_t wrong = 0;
	int i, errors = 0;

	for (i = 0; i < OPS; i++) {
		errors += o[i].result != 0;
		wrong += peer_op_wrong(&o[i]);
	}
	if (f->in_header || (!f->established && !f->ctrl)) {
		EXPECT_EQ(0, raw_status_failed(p->c.fd[0], &s)) {
			TH_LOG("seed %llu: %s: not noticed", seed, f->what);
		}
	}
	if (nothing_wrong(f) && !f->closed) {
		EXPECT_EQ(0, errors + wrong) TH_LOG("seed %llu: but nothing is wrong", seed);
	}
	EXPECT_EQ(0, raw_status(p->c.fd[0], &s));
	return f->mutations && s.cause.kind == COLL_CAUSE_PROTO;
}

static bool fuzz_once(struct __test_metadata *_metadata, uint64_t seed, bool ctrl)
{
	struct fuzz_round f = { .seed = seed, .ctrl = ctrl };
	static struct bytes b;
	struct peer_op o[OPS];
	uint64_t lots = seed;
	int i, started;
	uint64_t when;
	struct peer p;
	bool yes;

	f.established = !ctrl && test_below(&lots, 4);
	ASSERT_EQ(0, peer_start(&p, f.established));
	put_bytes(_metadata, &f, &p, o, &b, &lots);
	mutate_some(&f, &b, &lots);
	/* No deadline may pass that only a slow machine would miss. */
	for (i = 0; i < OPS && nothing_wrong(&f); i++)
		o[i].cmd.timeout_ns = 40 * DEADLINE;
	for (started = 0; started < OPS; started++) {
		ASSERT_TRUE(peer_op_start(&o[started], &p));
		if (!started)
			peer_write(&p, !ctrl, b.mem, b.len);
		if (!started && test_below(&lots, 2)) {
			peer_close(&p, !ctrl, test_below(&lots, 2));
			f.closed = true;
		}
		when = test_now_ns();
		EXPECT_TRUE(error_fits(peer_op_wait(&o[started]))) {
			TH_LOG("seed %llu: %s: op %d: %d", (unsigned long long)seed,
			       f.what, started, o[started].result);
		}
		EXPECT_FALSE(test_late(when + DEADLINE, o[started].when)) {
			TH_LOG("seed %llu: %s: op %d", (unsigned long long)seed,
			       f.what, started);
		}
	}
	yes = caught(_metadata, &f, &p, o);
	for (i = 0; i < OPS; i++)
		EXPECT_EQ(0, peer_op_exit(&o[i])) {
			TH_LOG("seed %llu: %s: op %d wrote outside",
			       (unsigned long long)seed, f.what, i);
		}
	peer_stop(&p);
	return yes;
}

/*
 * Each round has 0 to 3 mutations. About one round in three has a mutation in a header that is
 * read. This is random: with few rounds, go on until enough of them were errors.
 */
static void fuzz(struct __test_metadata *_metadata, bool ctrl)
{
	unsigned int i, n = test_scale(100), heard = 0;
	uint64_t lots = test_seed();

	for (i = 0; i < n || (heard <= n / 6 && i < 10 * n); i++)
		heard += fuzz_once(_metadata, test_rand(&lots) | 1, ctrl);
	TH_LOG("%u of %u were errors of the protocol", heard, i);
	EXPECT_GT(heard, n / 6);
}

TEST(data)	{ fuzz(_metadata, false); }
TEST(control)	{ fuzz(_metadata, true); }

TEST_HARNESS_MAIN
