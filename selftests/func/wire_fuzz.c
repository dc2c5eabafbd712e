// SPDX-License-Identifier: GPL-2.0
/*
 * A peer whose bytes are right but for a few: bits flip, bytes go, come twice or
 * out of nowhere. The ops end, within their deadline and with an error of the
 * protocol or a result; nothing outside the buffers is written.
 */
#include "harness.h"
#include "peer.h"

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

/* Mutations rather in headers than in payload: the first one starts at 0. */
static const char *mutate_header(struct bytes *b, uint64_t *lots)
{
	size_t at = test_below(lots, b->len < COLL_WIRE_HDR ? b->len : COLL_WIRE_HDR);

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

static void fuzz_once(struct __test_metadata *_metadata, uint64_t seed, bool ctrl)
{
	static struct bytes b;
	const char *what = "";
	struct peer_op o[OPS];
	uint64_t lots = seed;
	uint64_t when;
	struct peer p;
	int i, started;

	ASSERT_EQ(0, peer_start(&p, ctrl ? false : test_below(&lots, 4)));
	b.len = 0;
	for (i = 0; i < OPS; i++) {
		uint32_t frame = 20 + test_below(&lots, 700);

		ASSERT_TRUE(peer_op_init(&o[i], &p, test_below(&lots, PEER_NR_KINDS),
					 1 + test_below(&lots, 500), DEADLINE));
		b.len += peer_put_op(&p, &o[i].cmd, i + 1, frame, b.mem + b.len);
	}
	if (ctrl) {
		uint8_t data[COLL_WIRE_HDR + COLL_WIRE_HELLO];

		peer_write(&p, 1, data, peer_put_hello(&p, 1, data));
		peer_write(&p, 1, b.mem, b.len);
		b.len = peer_put_hello(&p, 0, b.mem);
		b.len += peer_put_bye(&p, 1, OPS, b.mem + b.len);
	}
	for (i = test_below(&lots, 3); i >= 0; i--)
		what = test_below(&lots, 3) ? mutate(&b, &lots) :
			mutate_header(&b, &lots);
	for (started = 0; started < OPS; started++) {
		ASSERT_TRUE(peer_op_start(&o[started], &p));
		if (!started)
			peer_write(&p, !ctrl, b.mem, b.len);
		if (!started && test_below(&lots, 2)) {
			peer_close(&p, !ctrl, test_below(&lots, 2));
		}
		when = test_now_ns();
		EXPECT_TRUE(error_fits(peer_op_wait(&o[started]))) {
			TH_LOG("seed %llu: %s: op %d: %d", (unsigned long long)seed,
			       what, started, o[started].result);
		}
		EXPECT_FALSE(test_late(when + DEADLINE, o[started].when)) {
			TH_LOG("seed %llu: %s: op %d", (unsigned long long)seed,
			       what, started);
		}
	}
	for (i = 0; i < OPS; i++)
		EXPECT_EQ(0, peer_op_exit(&o[i])) {
			TH_LOG("seed %llu: %s: op %d wrote outside",
			       (unsigned long long)seed, what, i);
		}
	peer_stop(&p);
}

static void fuzz(struct __test_metadata *_metadata, bool ctrl)
{
	uint64_t lots = test_seed();
	unsigned int i;

	for (i = 0; i < test_scale(100); i++)
		fuzz_once(_metadata, test_rand(&lots) | 1, ctrl);
}

TEST(data)	{ fuzz(_metadata, false); }
TEST(control)	{ fuzz(_metadata, true); }

TEST_HARNESS_MAIN
