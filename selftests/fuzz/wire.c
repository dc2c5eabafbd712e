// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node: what it sends is right but for some fields of headers, some
 * bytes, frames out of nowhere, and streams that end. Ops of the real rank end in time, and
 * write nothing outside of their buffers.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "peer.h"

#define OPS		3
#define DEADLINE	20000000ULL
/* How late an op may end on a slow machine */
#define LATE_NS		5000000000ULL

static int start(void)
{
	return 0;
}

static uint64_t odd(uint64_t *lots)
{
	static const uint64_t some[] = {
		0, 1, 2, 3, 255, 256, 4095, 4096, 65535, 65536, 1 << 20, (1 << 20) + 1, 1U << 31,
		~0U, 1ULL << 32, 1ULL << 63, ~0ULL,
	};

	return test_below(lots, 3) ? some[test_below(lots, sizeof(some) / sizeof(some[0]))] :
		test_rand(lots);
}

/* A frame of a random type. Its fields have random values, and some have valid ones. */
static void put_frame(struct wire_bytes *b, const struct peer *p, uint64_t *lots)
{
	struct coll_frame f;
	unsigned int i;

	peer_frame(p, &f, test_below(lots, COLL_FRAME_TENSOR + 1),
		   test_below(lots, 3) ? test_below(lots, 200) : 0);
	f.seq = 1 + test_below(lots, OPS);
	if (!test_below(lots, 3))
		f.seq = odd(lots);
	if (!test_below(lots, 3))
		f.offset = odd(lots);
	if (!test_below(lots, 3))
		f.transfer = odd(lots);
	if (!test_below(lots, 6))
		f.comm = odd(lots);
	if (!test_below(lots, 8))
		f.length = odd(lots);
	f.signature = odd(lots);
	coll_wire_put_header(b->mem + b->len, &f);
	b->len += COLL_WIRE_HDR;
	for (i = 0; i < 200 && i < f.length; i++)
		b->mem[b->len++] = test_rand(lots);
}

static void change(struct wire_bytes *b, uint64_t *lots)
{
	size_t at = test_below(lots, b->len), n = 1 + test_below(lots, 64);
	uint64_t v = odd(lots);

	if (n > b->len - at)
		n = b->len - at;
	switch (test_below(lots, 5)) {
	case 0:
		b->mem[at] ^= 1 << test_below(lots, 8);
		break;
	case 1:
		memmove(b->mem + at, b->mem + at + n, b->len - at - n);
		b->len -= n;
		break;
	case 2:
		memmove(b->mem + at + n, b->mem + at, b->len - at);
		b->len += n;
		break;
	case 3:
		memcpy(b->mem + at, &v, n < 8 ? n : 8);
		break;
	case 4:
		at = test_below(lots, COLL_WIRE_HDR / 4) * 4;
		if (at + 8 <= b->len)
			memcpy(b->mem + at, &v, 4);
		break;
	}
}

void wire_change(struct wire_bytes *b, const struct fuzz_seeds *s, uint64_t *lots)
{
	unsigned int i, k;

	for (i = test_below(lots, 4); i && b->len; i--)
		change(b, lots);
	for (k = 1; k < s->n; k++) {
		uint64_t more = s->seed[k];

		if (b->len)
			change(b, &more);
	}
}

void wire_write(struct peer *p, int stripe, const struct wire_bytes *b, uint64_t *lots)
{
	size_t at, n;

	for (at = 0; at < b->len; at += n) {
		n = test_below(lots, 3) ? b->len - at : 1 + test_below(lots, 200);
		if (n > b->len - at)
			n = b->len - at;
		if (!peer_write(p, stripe, b->mem + at, n))
			return;
	}
}

static void finish(struct peer *p, struct peer_op *o, unsigned int i, uint64_t begin)
{
	int ret = peer_op_wait(o);
	size_t hurt;

	if (ret && ret != -EPROTO && ret != -EBADE && ret != -EHOSTDOWN && ret != -ETIMEDOUT &&
	    ret != -ESHUTDOWN)
		fuzz_complain("op %u: %d", i, ret);
	if (o->when - begin > LATE_NS)
		fuzz_complain("op %u took %llu ms", i,
			      (unsigned long long)(o->when - begin) / 1000000);
	hurt = peer_op_exit(o);
	if (hurt)
		fuzz_complain("op %u wrote %zu bytes outside", i, hurt);
}

static unsigned int round_wire(const struct fuzz_seeds *s)
{
	uint64_t lots = s->seed[0], begin;
	static struct wire_bytes b[2];
	struct peer_op o[OPS];
	unsigned int i, st, inputs;
	struct peer p;

	if (!test_below(&lots, 3))
		return wire_named(s, lots);
	if (peer_start(&p, test_below(&lots, 8))) {
		fuzz_complain("no communicator to begin with");
		return 0;
	}
	b[0].len = 0;
	b[1].len = 0;
	for (i = 0; i < OPS; i++) {
		if (!peer_op_init(&o[i], &p, test_below(&lots, PEER_NR_KINDS),
				  1 + test_below(&lots, 500), DEADLINE))
			return 0;
		if (!test_below(&lots, 4))
			put_frame(&b[1], &p, &lots);
		b[1].len += peer_put_op(&p, &o[i].cmd, i + 1, 20 + test_below(&lots, 900),
					b[1].mem + b[1].len);
	}
	for (i = test_below(&lots, 4); i; i--)
		put_frame(&b[0], &p, &lots);
	st = test_below(&lots, 2);
	inputs = b[0].len + b[1].len;
	wire_change(&b[st], s, &lots);
	for (i = 0; i < OPS; i++) {
		begin = test_now_ns();
		peer_op_start(&o[i], &p);
		if (!i) {
			wire_write(&p, st, &b[st], &lots);
			wire_write(&p, !st, &b[!st], &lots);
			if (!test_below(&lots, 4))
				peer_close(&p, test_below(&lots, 2), test_below(&lots, 2));
		}
		finish(&p, &o[i], i, begin);
	}
	peer_stop(&p);
	return inputs / COLL_WIRE_HDR;
}

const struct fuzz_kind fuzz_wire = {
	.name = "wire", .start = start, .round = round_wire,
};
