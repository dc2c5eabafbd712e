// SPDX-License-Identifier: GPL-2.0
/*
 * Frames: round trips, the boundary of each field, truncation, and bytes nobody
 * meant. Buffers are allocated to the byte, so that ASan sees what goes beyond.
 */
#include <errno.h>
#include <string.h>

#include "pure/wire.h"
#include "tap.h"

#define FUZZ_HEADERS	2000000
#define FUZZ_PAYLOADS	500000

static u64 rnd;
static u8 *hdr, *hello, *abort_, *bye, *rts;

static struct coll_frame data_frame(void)
{
	return (struct coll_frame){
		.type = COLL_FRAME_DATA, .comm = 0x1122334455667788ULL,
		.epoch = 0xa1b2c3d4, .transfer = 0x01020304,
		.seq = 0x8070605040302010ULL, .offset = 0x0102030405060708ULL,
		.length = COLL_WIRE_DATA_MAX, .signature = 0xf1f2f3f4f5f6f7f8ULL,
	};
}

static struct coll_frame control_frame(u8 type, u32 length)
{
	return (struct coll_frame){
		.type = type, .comm = 7, .epoch = 9, .length = length,
	};
}

static struct coll_hello a_hello(void)
{
	return (struct coll_hello){
		.name = "0123456789abcde", .nonce = "fedcba987654321", .size = COLL_MAX_SIZE,
		.nr_nodes = COLL_MAX_SIZE, .src_node = COLL_MAX_SIZE - 1,
		.dst_node = 0, .stripe = COLL_MAX_STRIPES - 1,
		.wire_min = COLL_WIRE_VERSION, .wire_max = COLL_WIRE_VERSION,
		.map = 0x89abcdef,
	};
}

static struct coll_cause a_cause(void)
{
	return (struct coll_cause){
		.kind = COLL_CAUSE_EXIT, .error = EHOSTDOWN, .rank = 3, .node = 1,
		.pid = 12345, .signal = 9, .code = 0xdeadbeef, .seq = ~0ULL,
		.host = "node-1.example",
	};
}

static bool header_accepted(const struct coll_frame *f)
{
	struct coll_frame g;

	coll_wire_put_header(hdr, f);
	return !coll_wire_get_header(hdr, &g);
}

static bool hello_accepted(const struct coll_hello *h)
{
	struct coll_hello g;

	coll_wire_put_hello(hello, h);
	return !coll_wire_get_hello(hello, &g);
}

static bool cause_accepted(const struct coll_cause *c)
{
	struct coll_cause g;

	coll_wire_put_abort(abort_, c);
	return !coll_wire_get_abort(abort_, &g);
}

static struct coll_frame post_frame(void)
{
	struct coll_frame f = control_frame(COLL_FRAME_POST, 0);

	f.seq = 7;
	f.signature = 0x1234;
	return f;
}

static struct coll_frame ack_frame(void)
{
	struct coll_frame f = control_frame(COLL_FRAME_ACK, 0);

	f.offset = 4711;
	return f;
}

static struct coll_frame rts_frame(void)
{
	struct coll_frame f = control_frame(COLL_FRAME_RTS, COLL_WIRE_RTS);

	f.seq = 3;
	return f;
}

static struct coll_frame cts_frame(void)
{
	struct coll_frame f = control_frame(COLL_FRAME_CTS, 0);

	f.seq = 3;
	return f;
}

static struct coll_frame msg_frame(void)
{
	struct coll_frame f = control_frame(COLL_FRAME_MSG, 1000);

	f.seq = 3;
	f.offset = 4096;
	return f;
}

static struct coll_frame cancel_frame(void)
{
	struct coll_frame f = control_frame(COLL_FRAME_CANCEL, 0);

	f.seq = 3;
	return f;
}

#define WITH(make, accepted, field, value) ({		\
	__typeof__(make) t_ = make;			\
	t_.field = (value);				\
	accepted(&t_);					\
})
#define DATA(field, value)	WITH(data_frame(), header_accepted, field, value)
#define BYE(field, value)	WITH(control_frame(COLL_FRAME_BYE, COLL_WIRE_BYE), \
				     header_accepted, field, value)
#define POST(field, value)	WITH(post_frame(), header_accepted, field, value)
#define ACK(field, value)	WITH(ack_frame(), header_accepted, field, value)
#define RTS(field, value)	WITH(rts_frame(), header_accepted, field, value)
#define CTS(field, value)	WITH(cts_frame(), header_accepted, field, value)
#define MSG(field, value)	WITH(msg_frame(), header_accepted, field, value)
#define CANCEL(field, value)	WITH(cancel_frame(), header_accepted, field, value)
#define HELLO(field, value)	WITH(a_hello(), hello_accepted, field, value)
#define CAUSE(field, value)	WITH(a_cause(), cause_accepted, field, value)

static void test_header(void)
{
	static const u8 want[COLL_WIRE_HDR] = {
		'C', 'O', 'L', 'L', 4, 2, 0, 0,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0xd4, 0xc3, 0xb2, 0xa1, 0x04, 0x03, 0x02, 0x01,
		0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80,
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
		0x00, 0x00, 0x10, 0x00, 0, 0, 0, 0,
		0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1,
	};
	struct coll_frame f = data_frame(), g;
	u32 type, length;
	bool ok = true;

	memset(hdr, 0xff, COLL_WIRE_HDR);
	coll_wire_put_header(hdr, &f);
	tap_ok(!memcmp(hdr, want, sizeof(want)), "header: the bytes of the wire layout");
	tap_ok(!coll_wire_get_header(hdr, &g) && g.type == f.type && g.flags == f.flags &&
	       g.comm == f.comm && g.epoch == f.epoch && g.transfer == f.transfer &&
	       g.seq == f.seq && g.offset == f.offset && g.length == f.length &&
	       g.crc == f.crc && g.signature == f.signature, "header: round trip");

	tap_ok(DATA(length, 0) && DATA(length, 1) && !DATA(length, COLL_WIRE_DATA_MAX + 1) &&
	       !DATA(length, ~0U), "header: length of data");
	tap_ok(DATA(offset, 0) && DATA(offset, ~0ULL - COLL_WIRE_DATA_MAX) &&
	       !DATA(offset, ~0ULL - COLL_WIRE_DATA_MAX + 1) && !DATA(offset, ~0ULL),
	       "header: offset + length does not wrap");
	tap_ok(DATA(seq, 1) && DATA(seq, ~0ULL) && !DATA(seq, 0), "header: seq of data");
	tap_ok(DATA(transfer, 0) && DATA(transfer, ~0U) && DATA(epoch, 0) &&
	       DATA(comm, 0) && DATA(comm, ~0ULL) && DATA(signature, 0),
	       "header: fields whose value is the op's business");
	tap_ok(DATA(flags, COLL_FRAME_ACK_NOW) && DATA(flags, 3) && !DATA(flags, 4) &&
	       !DATA(flags, 0x8000) && !BYE(flags, 1) && !POST(flags, 1) && !ACK(flags, 1) &&
	       !DATA(crc, 1) && !DATA(crc, 1U << 31), "header: two flags, of data; no crc yet");
	tap_ok(!BYE(transfer, 1) && !BYE(seq, 1) && !BYE(offset, 1) && !BYE(signature, 1) &&
	       BYE(epoch, ~0U), "header: control frames belong to no op");
	tap_ok(POST(seq, 1) && POST(seq, ~0ULL) && !POST(seq, 0) && POST(signature, 1) &&
	       !POST(signature, 0) && !POST(transfer, 1) && !POST(offset, 1) &&
	       !POST(length, 1), "header: post names an op and nothing else");
	tap_ok(ACK(offset, 1) && ACK(offset, ~0ULL) && !ACK(offset, 0) && !ACK(seq, 1) &&
	       !ACK(signature, 1) && !ACK(transfer, 1) && !ACK(length, 1),
	       "header: ack has a number of bytes and nothing else");

	tap_ok(RTS(seq, 1) && RTS(seq, ~0ULL) && !RTS(seq, 0) && !RTS(signature, 1) &&
	       !RTS(transfer, 1) && !RTS(offset, 1) && !RTS(length, 0) && !RTS(flags, 1) &&
	       !RTS(length, COLL_WIRE_RTS + 1), "header: rts names a message and nothing else");
	tap_ok(CTS(seq, 1) && !CTS(seq, 0) && !CTS(signature, 1) && CTS(transfer, EMSGSIZE) &&
	       !CTS(transfer, 4096) && !CTS(offset, 1) && !CTS(length, 1) && !CTS(flags, 1),
	       "header: cts names a message, and an error");
	tap_ok(MSG(seq, 1) && !MSG(seq, 0) && !MSG(signature, 1) && !MSG(transfer, 1) &&
	       MSG(offset, 0) && !MSG(offset, ~0ULL) && !MSG(length, 0) && !MSG(flags, 1) &&
	       MSG(length, COLL_WIRE_DATA_MAX) && !MSG(length, COLL_WIRE_DATA_MAX + 1),
	       "header: msg has bytes of a message");
	tap_ok(CANCEL(seq, 1) && !CANCEL(seq, 0) && !CANCEL(signature, 1) && !CANCEL(transfer, 1) &&
	       !CANCEL(offset, 1) && !CANCEL(length, 1) && !CANCEL(flags, 1),
	       "header: cancel names a message and nothing else");

	for (type = 0; type < 256; type++) {
		for (length = 0; length <= COLL_WIRE_CTRL_MAX + 8; length++) {
			f = control_frame(type, length);
			ok &= header_accepted(&f) ==
				((type == COLL_FRAME_HELLO && length == COLL_WIRE_HELLO) ||
				 (type == COLL_FRAME_PROOF && length == COLL_WIRE_PROOF) ||
				 (type == COLL_FRAME_ABORT && length == COLL_WIRE_ABORT) ||
				 (type == COLL_FRAME_TENSOR && length &&
				  length <= COLL_WIRE_TENSOR_MAX) ||
				 (type == COLL_FRAME_BYE && length == COLL_WIRE_BYE));
		}
	}
	tap_ok(ok, "header: each type takes its own length only, unknown types none");

	ok = true;
	for (type = 0; type < 40; type++) {
		f = data_frame();
		coll_wire_put_header(hdr, &f);
		hdr[type / 8] ^= 1 << type % 8;
		ok &= coll_wire_get_header(hdr, &g) == -EPROTO;
	}
	tap_ok(ok, "header: each bit of magic and version matters");
}

static void test_hello(void)
{
	struct coll_hello h = a_hello(), g;

	memset(hello, 0xff, COLL_WIRE_HELLO);
	coll_wire_put_hello(hello, &h);
	tap_ok(!coll_wire_get_hello(hello, &g) && !memcmp(&g, &h, sizeof(h)),
	       "hello: round trip");
	tap_ok(!HELLO(size, 0) && !HELLO(size, COLL_MAX_SIZE + 1) &&
	       !HELLO(size, COLL_MAX_SIZE - 1), "hello: size, at least the nodes");
	tap_ok(!HELLO(nr_nodes, 0) && !HELLO(nr_nodes, COLL_MAX_SIZE - 1) &&
	       !HELLO(nr_nodes, COLL_MAX_SIZE + 1), "hello: number of nodes");
	tap_ok(!HELLO(src_node, COLL_MAX_SIZE) && HELLO(src_node, 1) &&
	       !HELLO(src_node, ~0U) && !HELLO(dst_node, COLL_MAX_SIZE) &&
	       HELLO(dst_node, COLL_MAX_SIZE - 2), "hello: nodes in range");
	tap_ok(!HELLO(src_node, 0) && !HELLO(dst_node, COLL_MAX_SIZE - 1),
	       "hello: a node has no link to itself");
	tap_ok(HELLO(stripe, 0) && !HELLO(stripe, COLL_MAX_STRIPES) && !HELLO(stripe, ~0U),
	       "hello: stripe");
	tap_ok(!HELLO(wire_min, 0) && !HELLO(wire_min, COLL_WIRE_VERSION + 1) &&
	       HELLO(wire_max, ~0U) && !HELLO(wire_max, COLL_WIRE_VERSION - 1),
	       "hello: versions contain this one");
}

static void test_map(void)
{
	u32 node_of[64], i, map;
	bool ok = true;

	for (i = 0; i < 64; i++)
		node_of[i] = i / 8;
	map = coll_wire_map(node_of, 64, false);
	for (i = 0; i < 64; i++) {
		node_of[i] ^= 1;
		ok &= coll_wire_map(node_of, 64, false) != map;
		node_of[i] ^= 1;
	}
	tap_ok(ok && map == coll_wire_map(node_of, 64, false), "map: of the node of each rank");
	node_of[0] = 1;
	node_of[8] = 0;
	tap_ok(coll_wire_map(node_of, 64, false) != map, "map: two ranks that are exchanged");
	node_of[0] = 0;
	node_of[8] = 1;
	tap_ok(coll_wire_map(node_of, 64, true) != map && coll_wire_map(node_of, 63, false) != map,
	       "map: of the kind and the size");
}

static void test_abort(void)
{
	struct coll_cause c = a_cause(), g;
	bool ok;

	memset(abort_, 0xff, COLL_WIRE_ABORT);
	coll_wire_put_abort(abort_, &c);
	tap_ok(!coll_wire_get_abort(abort_, &g) && !memcmp(&g, &c, sizeof(c)),
	       "abort: round trip");
	tap_ok(!CAUSE(kind, COLL_CAUSE_NONE) && CAUSE(kind, COLL_NR_CAUSES - 1) &&
	       !CAUSE(kind, COLL_NR_CAUSES), "abort: kind");
	tap_ok(!CAUSE(error, 0) && CAUSE(error, 1) && CAUSE(error, 133) &&
	       !CAUSE(error, 134) && !CAUSE(error, (u32)-5), "abort: an errno");
	tap_ok(CAUSE(rank, COLL_MAX_SIZE - 1) && !CAUSE(rank, COLL_MAX_SIZE) &&
	       CAUSE(rank, COLL_RANK_NONE) && !CAUSE(rank, COLL_RANK_NONE - 1) &&
	       CAUSE(node, COLL_MAX_SIZE - 1) && !CAUSE(node, COLL_MAX_SIZE) &&
	       CAUSE(node, COLL_RANK_NONE), "abort: rank and node");
	tap_ok(CAUSE(pid, 0x7fffffff) && !CAUSE(pid, 0x80000000U) &&
	       CAUSE(signal, 128) && !CAUSE(signal, 129), "abort: pid and signal");

	coll_wire_put_abort(abort_, &c);
	abort_[28] = 1;
	tap_ok(coll_wire_get_abort(abort_, &g) == -EPROTO, "abort: reserved is zero");

	coll_wire_put_abort(abort_, &c);
	abort_[40 + COLL_HOST_SIZE - 1] = 'x';
	ok = coll_wire_get_abort(abort_, &g) == -EPROTO;
	memset(abort_ + 40, 'x', COLL_HOST_SIZE);
	ok &= coll_wire_get_abort(abort_, &g) == -EPROTO;
	coll_wire_put_abort(abort_, &c);
	abort_[42] = '\033';
	ok &= coll_wire_get_abort(abort_, &g) == -EPROTO;
	memset(abort_ + 40, 0, COLL_HOST_SIZE);
	ok &= !coll_wire_get_abort(abort_, &g);
	tap_ok(ok, "abort: host is graphic ASCII, terminated, and nothing behind it");

	memset(c.host, 'h', COLL_HOST_SIZE);
	c.host[3] = '\n';
	coll_wire_put_abort(abort_, &c);
	tap_ok(!coll_wire_get_abort(abort_, &g) && g.host[3] == '?' &&
	       strlen((char *)g.host) == COLL_HOST_SIZE - 1,
	       "abort: our own odd host name is made sendable");
}

static void test_bye(void)
{
	struct coll_bye b = { .rank = COLL_MAX_SIZE - 1, .orders = ~0U - 1, .seq = ~0ULL }, g;

	memset(bye, 0xff, COLL_WIRE_BYE);
	coll_wire_put_bye(bye, &b);
	tap_ok(!coll_wire_get_bye(bye, &g) && g.rank == b.rank && g.orders == b.orders &&
	       g.seq == b.seq, "bye: round trip");
	b.rank++;
	coll_wire_put_bye(bye, &b);
	tap_ok(coll_wire_get_bye(bye, &g) == -EPROTO, "bye: rank");
}

static void test_rts(void)
{
	static const u8 want[COLL_WIRE_RTS] = {
		0xff, 3, 0, 0, 1, 2, 0, 0, 0xff, 0xff, 0xff, 0x7f, 15, 0, 0, 0,
		8, 7, 6, 5, 4, 3, 2, 1,
	};
	struct coll_rts r = {
		.source = COLL_MAX_SIZE - 1, .dest = 0x201, .tag = COLL_TAG_MAX,
		.dtype = COLL_F32, .bytes = 0x0102030405060708ULL,
	}, g, bad[4] = { r, r, r, r };
	bool ok = true;
	u32 i;

	memset(rts, 0xff, COLL_WIRE_RTS);
	coll_wire_put_rts(rts, &r);
	tap_ok(!memcmp(rts, want, sizeof(want)) && !coll_wire_get_rts(rts, &g) &&
	       g.source == r.source && g.dest == r.dest && g.tag == r.tag &&
	       g.dtype == r.dtype && g.bytes == r.bytes, "rts: layout and round trip");
	bad[0].source = COLL_MAX_SIZE;
	bad[1].dest = COLL_RANK_NONE;
	bad[2].tag = COLL_TAG_MAX + 1;
	bad[3].dtype = COLL_NR_DTYPES;
	for (i = 0; i < 4; i++) {
		coll_wire_put_rts(rts, &bad[i]);
		ok &= coll_wire_get_rts(rts, &g) == -EPROTO;
	}
	r.dtype = COLL_DTYPE_NONE;
	coll_wire_put_rts(rts, &r);
	tap_ok(ok && coll_wire_get_rts(rts, &g) == -EPROTO, "rts: ranks, tag, type");
}

static void flip(u8 *buf, u32 size)
{
	u32 i, nr = 1 + tap_random(&rnd) % 3;

	for (i = 0; i < nr; i++) {
		if (tap_random(&rnd) & 1)
			buf[tap_random(&rnd) % size] ^= 1 << tap_random(&rnd) % 8;
		else
			buf[tap_random(&rnd) % size] = tap_random(&rnd);
	}
}

/* The rules for an accepted header, written down a second time. */
static bool header_sane(const struct coll_frame *f)
{
	bool data = f->type == COLL_FRAME_DATA;

	if (f->type < COLL_FRAME_HELLO || f->type > COLL_FRAME_TENSOR || f->crc ||
	    f->flags & ~(data ? COLL_FRAME_ACK_NOW | COLL_FRAME_LOAN : 0))
		return false;
	if (f->flags & COLL_FRAME_LOAN && !f->length)
		return false;
	if (f->type == COLL_FRAME_ACK)
		return !f->length && !f->seq && !f->signature && f->offset && !f->transfer;
	if (f->type == COLL_FRAME_RTS)
		return f->length == COLL_WIRE_RTS && f->seq && !f->signature && !f->offset &&
		       !f->transfer;
	if (f->type == COLL_FRAME_CTS)
		return !f->length && f->seq && !f->signature && !f->offset &&
		       f->transfer < 4096;
	if (f->type == COLL_FRAME_CANCEL)
		return !f->length && f->seq && !f->signature && !f->offset && !f->transfer;
	if (f->type == COLL_FRAME_MSG)
		return f->length && f->length <= COLL_WIRE_DATA_MAX && f->seq &&
		       f->offset + f->length >= f->offset && !f->transfer && !f->signature;
	if (f->type == COLL_FRAME_POST)
		return !f->length && f->seq && f->signature && !f->offset && !f->transfer;
	if (data)
		return f->length <= COLL_WIRE_DATA_MAX && f->seq &&
		       f->offset + f->length >= f->offset;
	return f->length <= COLL_WIRE_CTRL_MAX && !f->seq && !f->offset &&
	       !f->transfer && !f->signature;
}

static void fuzz_headers(void)
{
	static const u32 length[] = {
		[COLL_FRAME_HELLO] = COLL_WIRE_HELLO, [COLL_FRAME_ABORT] = COLL_WIRE_ABORT,
		[COLL_FRAME_BYE] = COLL_WIRE_BYE, [COLL_FRAME_PROOF] = COLL_WIRE_PROOF,
		[COLL_FRAME_TENSOR] = COLL_WIRE_TENSOR_MAX,
	};
	struct coll_frame f, g;
	u8 again[COLL_WIRE_HDR];
	u32 i, type, accepted = 0;
	bool ok = true;

	for (i = 0; i < FUZZ_HEADERS && ok; i++) {
		type = 1 + tap_random(&rnd) % COLL_FRAME_TENSOR;
		if (type == COLL_FRAME_DATA)
			f = data_frame();
		else if (type == COLL_FRAME_POST)
			f = post_frame();
		else if (type == COLL_FRAME_ACK)
			f = ack_frame();
		else if (type == COLL_FRAME_RTS)
			f = rts_frame();
		else if (type == COLL_FRAME_CTS)
			f = cts_frame();
		else if (type == COLL_FRAME_MSG)
			f = msg_frame();
		else if (type == COLL_FRAME_CANCEL)
			f = cancel_frame();
		else
			f = control_frame(type, length[type]);
		coll_wire_put_header(hdr, &f);
		if (i % 16)
			flip(hdr, COLL_WIRE_HDR);
		if (i % 8 == 1)	/* near the largest offset and length */
			memset(hdr + 32, 0xff, 8 + tap_random(&rnd) % 3);
		if (coll_wire_get_header(hdr, &g))
			continue;
		accepted++;
		coll_wire_put_header(again, &g);
		ok = header_sane(&g) && !memcmp(again, hdr, COLL_WIRE_HDR);
	}
	tap_ok(ok, "fuzz: %u headers, %u accepted, each sane and the same when put again",
	       i, accepted);
}

static bool hello_sane(const struct coll_hello *h)
{
	return h->size >= 1 && h->size <= COLL_MAX_SIZE && h->nr_nodes >= 1 &&
	       h->nr_nodes <= h->size && h->src_node < h->nr_nodes &&
	       h->dst_node < h->nr_nodes && h->src_node != h->dst_node &&
	       h->stripe < COLL_MAX_STRIPES && h->wire_min <= h->wire_max;
}

static bool cause_sane(const struct coll_cause *c)
{
	return c->kind > COLL_CAUSE_NONE && c->kind < COLL_NR_CAUSES && c->error &&
	       c->error < 4096 && (c->rank < COLL_MAX_SIZE || c->rank == COLL_RANK_NONE) &&
	       (c->node < COLL_MAX_SIZE || c->node == COLL_RANK_NONE) &&
	       !c->reserved && memchr(c->host, 0, COLL_HOST_SIZE);
}

static void fuzz_payloads(void)
{
	struct coll_hello h, h0 = a_hello();
	struct coll_cause c, c0 = a_cause();
	struct coll_bye b, b0 = { .rank = 5, .seq = 6 };
	struct coll_rts r, r0 = { .source = 1, .dest = 2, .tag = 3, .dtype = 4, .bytes = 5 };
	u8 again[COLL_WIRE_CTRL_MAX];
	u32 i, accepted = 0;
	bool ok = true;

	for (i = 0; i < FUZZ_PAYLOADS && ok; i++) {
		coll_wire_put_hello(hello, &h0);
		flip(hello, COLL_WIRE_HELLO);
		if (!coll_wire_get_hello(hello, &h)) {
			coll_wire_put_hello(again, &h);
			ok &= hello_sane(&h) && !memcmp(again, hello, COLL_WIRE_HELLO);
			accepted++;
		}
		coll_wire_put_abort(abort_, &c0);
		flip(abort_, COLL_WIRE_ABORT);
		if (!coll_wire_get_abort(abort_, &c)) {
			coll_wire_put_abort(again, &c);
			ok &= cause_sane(&c) && !memcmp(again, abort_, COLL_WIRE_ABORT);
			accepted++;
		}
		coll_wire_put_bye(bye, &b0);
		flip(bye, COLL_WIRE_BYE);
		if (!coll_wire_get_bye(bye, &b)) {
			coll_wire_put_bye(again, &b);
			ok &= b.rank < COLL_MAX_SIZE && !memcmp(again, bye, COLL_WIRE_BYE);
			accepted++;
		}
		coll_wire_put_rts(rts, &r0);
		flip(rts, COLL_WIRE_RTS);
		if (!coll_wire_get_rts(rts, &r)) {
			coll_wire_put_rts(again, &r);
			ok &= r.source < COLL_MAX_SIZE && r.dest < COLL_MAX_SIZE &&
			      r.tag <= COLL_TAG_MAX && r.dtype && r.dtype < COLL_NR_DTYPES &&
			      !memcmp(again, rts, COLL_WIRE_RTS);
			accepted++;
		}
	}
	tap_ok(ok, "fuzz: %u payloads of each kind, %u accepted, each sane and canonical",
	       i, accepted);
}

static void test_digests(void)
{
	u64 base = coll_signature(4, 1, 15, 3, 0, 1000, 1), other;
	bool ok = true;
	u32 bit;

	for (bit = 0; bit < 32; bit++) {
		ok &= coll_signature(4 ^ 1U << bit, 1, 15, 3, 0, 1000, 1) != base;
		ok &= coll_signature(4, 1 ^ 1U << bit, 15, 3, 0, 1000, 1) != base;
		ok &= coll_signature(4, 1, 15 ^ 1U << bit, 3, 0, 1000, 1) != base;
		ok &= coll_signature(4, 1, 15, 3 ^ 1U << bit, 0, 1000, 1) != base;
		ok &= coll_signature(4, 1, 15, 3, 1U << bit, 1000, 1) != base;
	}
	for (bit = 0; bit < 64; bit++) {
		other = coll_signature(4, 1, 15, 3, 0, 1000 ^ 1ULL << bit, 1);
		ok &= other != base && __builtin_popcountll(other ^ base) > 8;
		other = coll_signature(4, 1, 15, 3, 0, 1000, 1 ^ 1ULL << bit);
		ok &= other != base && __builtin_popcountll(other ^ base) > 8;
	}
	ok &= coll_signature(1, 4, 15, 0, 0, 0, 0) != coll_signature(4, 1, 15, 0, 0, 0, 0);
	ok &= coll_signature(0, 0, 0, 0, 0, 0, 0) != 0;
	tap_ok(ok, "signature: every bit of every argument changes it");
}

/* Is the text of these another one than @base? */
static bool texts_differ(const struct coll_hello *from, const struct coll_hello *to,
			 u32 epoch, const u8 *base)
{
	u8 text[COLL_WIRE_PROOF_TEXT];

	coll_wire_put_proof_text(text, epoch, from, to);
	return memcmp(text, base, sizeof(text));
}

/* The input of the MAC in PROOF depends on everything in both HELLOs. */
static void test_proof_text(void)
{
	struct coll_hello from = a_hello(), to = a_hello(), h;
	u8 base[COLL_WIRE_PROOF_TEXT], name[COLL_WIRE_LABEL];
	u32 byte;
	bool ok = true;

	to.src_node = 0;
	to.dst_node = COLL_MAX_SIZE - 1;
	coll_wire_put_proof_text(base, 7, &from, &to);
	for (byte = 0; byte < sizeof(h); byte++) {
		h = from;
		((u8 *)&h)[byte] ^= 1;
		ok &= texts_differ(&h, &to, 7, base);
		h = to;
		((u8 *)&h)[byte] ^= 1;
		ok &= texts_differ(&from, &h, 7, base);
	}
	tap_ok(ok && texts_differ(&from, &to, 8, base), "proof: of every field of both hellos");
	tap_ok(texts_differ(&to, &from, 7, base), "proof: of who says it to whom");
	coll_wire_put_name_text(name);
	tap_ok(memcmp(name, base, sizeof(name)), "proof: of another label than the name");
}

int main(void)
{
	rnd = tap_seed();
	hdr = malloc(COLL_WIRE_HDR);
	hello = malloc(COLL_WIRE_HELLO);
	abort_ = malloc(COLL_WIRE_ABORT);
	rts = malloc(COLL_WIRE_RTS);
	bye = malloc(COLL_WIRE_BYE);
	if (!hdr || !hello || !abort_ || !bye || !rts)
		return 1;

	test_header();
	test_hello();
	test_map();
	test_abort();
	test_bye();
	test_rts();
	test_digests();
	test_proof_text();
	fuzz_headers();
	fuzz_payloads();

	free(hdr);
	free(rts);
	free(hello);
	free(abort_);
	free(bye);
	return tap_done();
}
