// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... p2p_rank MODE [SEED [N]]: one rank of a test of messages.
 *
 *	ring	shifts round the ring with sendrecv, of sizes up to 16 MiB + 3
 *	storm	N random messages between all pairs, nonblocking, each byte checked
 *	mixed	messages and collectives, which ranks start in opposite orders
 *	ways	the other ways: persistent, replace, an own ring, a part of the ranks
 *	flood	N messages at once from rank 0 to the last rank, taken in order, in reverse, and
 *		in reverse from any source; then N barriers at once
 *	probe	SEED messages from all to all, received by probes
 *
 * All ranks draw the same random numbers, so each knows what the others send.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <liburing.h>

#include <coll/coll.h>

#include "rand.h"
#include "rank.h"

/* Messages of one round; a rank sends and receives at most this many each. */
#define ROUND		60
#define TAGS		3
#define MOST		(1 << 20)	/* bytes of a message, but one */

static coll_comm_t *comm;
static uint32_t size;
static int bad;

__attribute__((format(printf, 1, 2)))
static void complain(const char *fmt, ...)
{
	va_list ap;

	if (++bad > 10)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "rank %u: ", me);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

static uint8_t byte_of(uint64_t serial, uint64_t i)
{
	return (uint8_t)((i * 2654435761U >> 11) + serial * 29);
}

static void fill(uint8_t *p, uint64_t bytes, uint64_t serial)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		p[i] = byte_of(serial, i);
}

static bool right(const uint8_t *p, uint64_t bytes, uint64_t serial)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (p[i] != byte_of(serial, i))
			return false;
	return true;
}

/* ---- ring ---- */

static void shift(uint8_t *in, uint8_t *out, uint64_t bytes, uint32_t by, bool blocking)
{
	uint32_t to = (me + by) % size, from = (me + size - by) % size;
	struct coll_message got;
	coll_request_t *req;

	fill(in, bytes, me);
	memset(out, 0x5a, bytes + 1);
	if (blocking) {
		must(coll_sendrecv(comm, in, bytes, COLL_BYTE, to, by, out, bytes + 1,
				   COLL_BYTE, from, by, &got), "sendrecv");
	} else {
		must(coll_irecv(comm, out, bytes + 1, COLL_BYTE, COLL_RANK_ANY, by, &got,
				&req), "irecv");
		must(coll_send(comm, in, bytes, COLL_BYTE, to, by), "send");
		must(coll_wait(req), "wait");
	}
	if (got.bytes != bytes || got.source != from || got.tag != by || out[bytes] != 0x5a ||
	    !right(out, bytes, from))
		complain("shift by %u of %llu bytes is wrong", by, (unsigned long long)bytes);
}

static void mode_ring(void)
{
	static const uint64_t sizes[] = {
		0, 1, 8, 4095, 65536, 65537, 262144, 1000003, (16 << 20) + 3,
	};
	uint8_t *in = malloc((16 << 20) + 4), *out = malloc((16 << 20) + 4);
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		shift(in, out, sizes[i], 1, true);
		shift(in, out, sizes[i], size - 1, true);
		shift(in, out, sizes[i], size / 2, false);
		shift(in, out, sizes[i], 0, false);
	}
	free(in);
	free(out);
}

/* ---- storm ---- */

struct msg {
	uint32_t from, to, tag;
	uint64_t bytes, serial;
	uint8_t *buf;
};

/* One receive: what it asks for, and what came. */
struct recv {
	uint32_t from, tag;
	uint64_t room;
	uint8_t *buf;
	struct coll_message got;
	coll_request_t *req;
};

struct round {
	struct msg msg[ROUND];
	struct recv recv[ROUND];
	coll_request_t *sends[ROUND];
	unsigned int nr_sends, nr_recvs;
};

/* Mostly small ones; every tenth is of any size up to 1 MiB. */
static uint64_t draw_bytes(uint64_t *lots)
{
	uint64_t kind = test_below(lots, 10);

	return kind == 0 ? test_below(lots, MOST - 1) : kind < 4 ? test_below(lots, 1 << 14) :
	       test_below(lots, 64);
}

/* The messages, in order; the same on all ranks. */
static void draw_round(struct round *r, uint64_t *lots, uint64_t serial)
{
	unsigned int i;

	for (i = 0; i < ROUND; i++) {
		struct msg *m = &r->msg[i];

		m->from = test_below(lots, size);
		m->to = test_below(lots, size);
		m->tag = (uint32_t)(serial / ROUND % 1000) * TAGS + test_below(lots, TAGS);
		m->bytes = draw_bytes(lots);
		m->serial = serial + i;
	}
}

/*
 * Receives for all that comes to this rank, in an order of its own. Exact ones take what
 * is sent from there with that tag, in order; else some ask for anybody, or all for
 * anything.
 */
static void plan_recvs(struct round *r, uint64_t *mine, uint32_t wild)
{
	uint64_t most = 0;
	unsigned int i, j;

	r->nr_recvs = 0;
	for (i = 0; i < ROUND; i++) {
		const struct msg *m = &r->msg[i];

		most = m->bytes > most ? m->bytes : most;
		if (m->to != me)
			continue;
		j = test_below(mine, ++r->nr_recvs);
		r->recv[r->nr_recvs - 1].from = r->recv[j].from;
		r->recv[r->nr_recvs - 1].tag = r->recv[j].tag;
		r->recv[j].from = wild ? COLL_RANK_ANY : m->from;
		r->recv[j].tag = wild == 2 ? COLL_TAG_ANY : m->tag;
	}
	for (i = 0; i < r->nr_recvs; i++)
		r->recv[i].room = most + 1;
}

/* Sends and receives, shuffled into each other. */
static void post_round(struct round *r, uint64_t *mine)
{
	unsigned int s = 0, v = 0;

	r->nr_sends = 0;
	while (s < ROUND || v < r->nr_recvs) {
		if (v < r->nr_recvs && (s == ROUND || test_below(mine, 2))) {
			struct recv *k = &r->recv[v++];

			memset(k->buf, 0xee, k->room);
			memset(&k->got, 0, sizeof(k->got));
			must(coll_irecv(comm, k->buf, k->room, COLL_BYTE, k->from, k->tag,
					&k->got, &k->req), "irecv");
		} else {
			struct msg *m = &r->msg[s++];

			if (m->from != me)
				continue;
			fill(m->buf, m->bytes, m->serial);
			must(coll_isend(comm, m->buf, m->bytes, COLL_BYTE, m->to, m->tag,
					&r->sends[r->nr_sends++]), "isend");
		}
	}
}

/* The message that a receive should have got: the next from there with that tag. */
static struct msg *expected(struct round *r, bool *taken, const struct recv *k)
{
	unsigned int i;

	for (i = 0; i < ROUND; i++) {
		struct msg *m = &r->msg[i];

		if (m->to == me && !taken[i] && m->from == k->got.source &&
		    m->tag == k->got.tag) {
			taken[i] = true;
			return m;
		}
	}
	return NULL;
}

static void check_round(struct round *r)
{
	bool taken[ROUND] = { };
	unsigned int i;

	must(coll_waitall(r->sends, r->nr_sends), "sends");
	for (i = 0; i < r->nr_recvs; i++)
		must(coll_wait(r->recv[i].req), "a receive");
	/* in the order in which they were posted */
	for (i = 0; i < r->nr_recvs; i++) {
		struct recv *k = &r->recv[i];
		struct msg *m = expected(r, taken, k);

		if (!m || k->got.bytes != m->bytes || !right(k->buf, m->bytes, m->serial) ||
		    k->buf[m->bytes] != 0xee)
			complain("receive %u (%d, %d) got %llu bytes from %u, tag %u: %s", i,
				 (int)k->from, (int)k->tag, (unsigned long long)k->got.bytes,
				 k->got.source, k->got.tag, m ? "wrong" : "unexpected");
	}
}

static void mode_storm(uint64_t seed, uint64_t n)
{
	uint64_t lots = seed | 1, mine = (seed + me) * 2 + 1, serial, bytes = 0;
	static struct round r;
	unsigned int i;

	/* once: pages that are seen for the first time are what costs most */
	for (i = 0; i < ROUND; i++) {
		r.msg[i].buf = malloc(MOST);
		r.recv[i].buf = malloc(MOST);
	}
	for (serial = 0; serial < n; serial += ROUND) {
		uint32_t wild = (uint32_t)(serial / ROUND % 3);

		draw_round(&r, &lots, serial);
		plan_recvs(&r, &mine, wild);
		post_round(&r, &mine);
		check_round(&r);
		for (i = 0; i < ROUND; i++)
			bytes += r.msg[i].bytes;
		/* what a wild round takes must not be of the next one */
		if (wild == 2)
			must(coll_barrier(comm), "barrier");
	}
	if (!me)
		printf("seed %llu: %llu messages, %llu bytes\n", (unsigned long long)seed,
		       (unsigned long long)serial, (unsigned long long)bytes);
}

/* ---- mixed ---- */

static void mode_mixed(void)
{
	const uint64_t count = 300000;
	int32_t *in = malloc(count * 4), *sum = malloc(count * 4), token[2];
	uint32_t i, r, partner = me ^ 1;
	coll_request_t *req;

	for (i = 0; i < 40; i++) {
		/* Small ones first: after a large one they go to the kernel for a while. */
		uint64_t n = i < 10 || i % 3 ? 5 : count;

		for (r = 0; r < n; r++)
			in[r] = (int32_t)(r + me + i);
		token[0] = (int32_t)(me * 100 + i);
		token[1] = -1;
		if (partner >= size) {
			must(coll_allreduce(comm, in, sum, n, COLL_I32, COLL_OP_SUM),
			     "allreduce");
		} else if ((me ^ i) & 1) {
			/* the collective is under way, and cannot end before the message */
			must(coll_iallreduce(comm, in, sum, n, COLL_I32, COLL_OP_SUM, &req),
			     "iallreduce");
			must(coll_recv(comm, &token[1], 1, COLL_I32, partner, i, NULL), "recv");
			must(coll_wait(req), "allreduce");
		} else {
			must(coll_send(comm, &token[0], 1, COLL_I32, partner, i), "send");
			must(coll_allreduce(comm, in, sum, n, COLL_I32, COLL_OP_SUM),
			     "allreduce");
		}
		for (r = 0; r < n; r++)
			if ((uint32_t)sum[r] != size * (r + i) + size * (size - 1) / 2)
				break;
		if (r < n)
			complain("round %u: element %u of the sum is %d", i, r, sum[r]);
		if (partner < size && (me ^ i) & 1 && token[1] != (int32_t)(partner * 100 + i))
			complain("round %u: token %d", i, token[1]);
	}
	free(in);
	free(sum);
}

/* ---- ways ---- */

static void persistent(void)
{
	uint32_t to = (me + 1) % size, from = (me + size - 1) % size, i;
	coll_request_t *reqs[2];
	double in[1000] = { }, out[1000];

	must(coll_send_init(comm, in, 1000, COLL_F64, to, 1, &reqs[0]), "send_init");
	must(coll_recv_init(comm, out, 1000, COLL_F64, from, 1, NULL, &reqs[1]), "recv_init");
	for (i = 0; i < 20; i++) {
		in[999] = me + i * 1000.0;
		must(coll_startall(reqs, 2), "startall");
		must(coll_wait(reqs[0]), "send");
		must(coll_wait(reqs[1]), "recv");
		if (out[999] != from + i * 1000.0)
			complain("persistent: round %u", i);
	}
	must(coll_request_free(reqs[0]), "free");
	must(coll_request_free(reqs[1]), "free");
}

static void replace(void)
{
	uint32_t to = (me + 1) % size, from = (me + size - 1) % size;
	uint8_t *buf = malloc(500000);
	struct coll_message got;
	uint32_t id;

	fill(buf, 500000, me);
	must(coll_sendrecv_replace(comm, buf, 500000, COLL_U8, to, 7, from, 7, &got), "replace");
	if (!right(buf, 500000, from) || coll_message_count(&got, COLL_I32) != 125000 ||
	    coll_message_count(&got, COLL_LDOUBLE) != 31250)
		complain("sendrecv_replace");
	/* back again, in registered memory, and with nobody at one end */
	must(coll_register_buffer(comm, buf, 500000, COLL_REG_WRITE, &id), "register");
	must(coll_sendrecv_replace(comm, buf, 500000, COLL_U8, from, 7, to, 7, &got), "replace");
	if (!right(buf, 500000, me) || got.source != to)
		complain("sendrecv_replace, registered");
	must(coll_unregister_buffer(comm, id), "unregister");
	must(coll_sendrecv_replace(comm, buf, 9, COLL_U8, me ? me - 1 : COLL_RANK_NULL, 8,
				   me + 1 < size ? me + 1 : COLL_RANK_NULL, 8, &got), "line");
	if (!right(buf, 9, me + 1 < size ? me + 1 : me))
		complain("sendrecv_replace along a line");
	free(buf);
}

/* A prepared call outlives the registration of its buffers. */
static void prepared_unregistered(void)
{
	uint64_t mem[2] = { me, 0 };
	coll_request_t *req;
	uint32_t id, i;

	must(coll_register_buffer(comm, mem, sizeof(mem), COLL_REG_WRITE, &id), "register");
	must(coll_allreduce_init(comm, &mem[0], &mem[1], 1, COLL_U64, COLL_OP_SUM, &req), "init");
	for (i = 0; i < 3; i++) {
		must(coll_start(req), "start");
		must(coll_wait(req), i ? "a call without its registration" : "a prepared call");
		if (mem[1] != (uint64_t)size * (size - 1) / 2)
			complain("sum of a prepared call: %llu", (unsigned long long)mem[1]);
		mem[1] = 0;
		if (!i)
			must(coll_unregister_buffer(comm, id), "unregister");
	}
	must(coll_request_free(req), "free");
}

/*
 * So does a call that waits in the library: on rank 0 behind a small one in shared memory, which
 * the others begin later.
 */
static void queued_unregistered(void)
{
	const uint64_t n = 1 << 17;
	uint64_t *mem = calloc(n, sizeof(*mem)), one = 1;
	coll_request_t *reqs[2];
	uint32_t id, r;

	if (!mem)
		must(-ENOMEM, "memory");
	mem[n - 1] = 1;
	must(coll_register_buffer(comm, mem, n * sizeof(*mem), COLL_REG_WRITE, &id), "register");
	if (me)
		must(coll_recv(comm, NULL, 0, COLL_U64, 0, 66, NULL), "recv");
	must(coll_iallreduce(comm, COLL_IN_PLACE, &one, 1, COLL_U64, COLL_OP_SUM, &reqs[0]), "small");
	must(coll_iallreduce(comm, COLL_IN_PLACE, mem, n, COLL_U64, COLL_OP_SUM, &reqs[1]), "large");
	must(coll_unregister_buffer(comm, id), "unregister");
	for (r = 1; !me && r < size; r++)
		must(coll_send(comm, NULL, 0, COLL_U64, r, 66), "send");
	must(coll_waitall(reqs, 2), "calls without their registration");
	if (one != size || mem[n - 1] != size)
		complain("sums of calls without their registration");
	free(mem);
}

/* @fixed: with buffers that are registered with the ring */
static void own_ring(bool fixed)
{
	uint32_t to = (me + 1) % size, from = (me + size - 1) % size, i;
	uint64_t mem[2] = { me + 77, 0 };
	struct iovec iov = { mem, sizeof(mem) };
	struct coll_cmd cmds[2];
	struct io_uring ring;
	struct io_uring_sqe *sqe[2];
	struct io_uring_cqe *cqe;

	must(io_uring_queue_init(4, &ring, 0), "ring");
	must(io_uring_register_buffers(&ring, &iov, 1), "register");
	for (i = 0; i < 2; i++)
		sqe[i] = io_uring_get_sqe(&ring);
	coll_prep_recv(sqe[0], comm, &cmds[0], &mem[1], 1, COLL_U64, from, 2, NULL);
	coll_prep_send(sqe[1], comm, &cmds[1], &mem[0], 1, COLL_U64, to, 2);
	for (i = 0; fixed && i < 2; i++)
		coll_prep_fixed(sqe[i], 0);
	must(io_uring_submit(&ring) == 2 ? 0 : -EIO, "submit");
	for (i = 0; i < 2; i++) {
		must(io_uring_wait_cqe(&ring, &cqe), "cqe");
		must(cqe->res, "an SQE");
		io_uring_cqe_seen(&ring, cqe);
	}
	if (mem[1] != from + 77)
		complain("own ring%s", fixed ? ", fixed buffer" : "");
	/* and that the index has come through */
	if (fixed) {
		sqe[0] = io_uring_get_sqe(&ring);
		coll_prep_send(sqe[0], comm, &cmds[0], &mem[0], 1, COLL_U64, to, 2);
		coll_prep_fixed(sqe[0], 1);
		must(io_uring_submit(&ring) == 1 ? 0 : -EIO, "submit");
		must(io_uring_wait_cqe(&ring, &cqe), "cqe");
		if (cqe->res != -EFAULT)
			complain("no such buffer: %d", cqe->res);
	}
	io_uring_queue_exit(&ring);
}

/* Messages of a part are not those of the whole, with the same ranks and tags. */
static void part(void)
{
	uint32_t v[2] = { me, me + 100 }, o[2] = { ~0U, ~0U }, peer;
	coll_request_t *reqs[4] = { };
	coll_comm_t *dup;

	must(coll_comm_split(comm, 0, -(int32_t)me, &dup), "split");
	peer = (me + 1) % size;
	must(coll_irecv(dup, &o[1], 1, COLL_U32, COLL_RANK_ANY, 0, NULL, &reqs[0]), "irecv");
	must(coll_irecv(comm, &o[0], 1, COLL_U32, COLL_RANK_ANY, 0, NULL, &reqs[1]), "irecv");
	must(coll_isend(comm, &v[0], 1, COLL_U32, peer, 0, &reqs[2]), "isend");
	must(coll_isend(dup, &v[1], 1, COLL_U32, size - 1 - peer, 0, &reqs[3]), "isend");
	must(coll_waitall(reqs, 4), "waitall");
	if (o[0] != (me + size - 1) % size || o[1] != o[0] + 100)
		complain("part: %u, %u", o[0], o[1]);
	must(coll_finalize(dup), "finalize");
}

/* Messages of one kind: each has its tag, and is received in reverse order, or as it comes. */
static void flood_once(uint64_t n, bool reverse, bool any)
{
	uint64_t *mem = calloc(n, sizeof(*mem)), i, t;
	coll_request_t **reqs = calloc(n, sizeof(*reqs));
	struct coll_message *got = calloc(n, sizeof(*got));
	uint32_t last = size - 1;

	if (!mem || !reqs || !got)
		must(-ENOMEM, "calloc");
	for (i = 0; i < n; i++) {
		t = reverse && me ? n - 1 - i : i;
		if (!me)
			mem[t] = t + 1;
		if (!me)
			must(coll_isend(comm, &mem[t], 1, COLL_U64, last, (uint32_t)t, &reqs[t]),
			     "isend");
		else if (me == last)
			must(coll_irecv(comm, &mem[t], 1, COLL_U64, any ? COLL_RANK_ANY : 0,
					(uint32_t)t, &got[t], &reqs[t]), "irecv");
	}
	must(coll_waitall(reqs, n), "waitall");
	for (i = 0; me == last && i < n; i++) {
		if (mem[i] != i + 1 || got[i].tag != i)
			complain("flood: message %llu", (unsigned long long)i);
	}
	free(mem);
	free(reqs);
	free(got);
}

static void mode_flood(uint64_t n)
{
	coll_request_t **reqs = calloc(n, sizeof(*reqs));
	uint64_t i;

	if (!reqs)
		must(-ENOMEM, "calloc");
	flood_once(n, false, false);
	flood_once(n, true, false);
	flood_once(n, true, true);
	for (i = 0; i < n; i++)
		must(coll_ibarrier(comm, &reqs[i]), "ibarrier");
	must(coll_waitall(reqs, n), "waitall");
	free(reqs);
}

static void mode_ways(void)
{
	persistent();
	prepared_unregistered();
	queued_unregistered();
	replace();
	own_ring(false);
	own_ring(true);
	part();
}

/*
 * Take the length of every message first, then its content. With several threads this needs
 * mprobe.
 */
static void take(uint64_t *sum)
{
	struct coll_message got, took;
	coll_request_t *req;
	int found = 0;
	uint32_t *mem;

	if (*sum & 1) {
		must(coll_mprobe(comm, COLL_RANK_ANY, COLL_TAG_ANY, &got), "mprobe");
	} else {
		while (!found)
			must(coll_improbe(comm, COLL_RANK_ANY, COLL_TAG_ANY, &found, &got), "improbe");
	}
	mem = malloc(got.bytes);
	if (!mem)
		must(-ENOMEM, "malloc");
	if (*sum & 2) {
		must(coll_mrecv(comm, mem, got.bytes, COLL_BYTE, got.id, &took), "mrecv");
	} else {
		must(coll_imrecv(comm, mem, got.bytes, COLL_BYTE, got.id, &took, &req), "imrecv");
		must(coll_wait(req), "imrecv");
	}
	if (mem[0] != got.tag || mem[0] != took.tag || took.source != got.source ||
	    took.bytes != got.bytes)
		complain("probe: message %u from %u", got.tag, got.source);
	*sum += got.tag;
	free(mem);
}

/* All send to all, themselves too; who receives does not know what and from whom. */
static void mode_probe(uint64_t n)
{
	coll_request_t **reqs = calloc(n * size, sizeof(*reqs));
	uint32_t *mem = calloc(n, 4096);
	uint64_t i, sum = 0, want = 0;
	struct coll_message got;
	uint32_t r;
	int found;

	if (!mem || !reqs)
		must(-ENOMEM, "calloc");
	must(coll_iprobe(comm, COLL_RANK_NULL, 1, &found, &got), "iprobe");
	if (!found || got.source != COLL_RANK_NULL)
		complain("iprobe of nobody");
	for (i = 0; i < n; i++) {
		mem[i * 1024] = (uint32_t)i;
		want += i * size;
		for (r = 0; r < size; r++)
			must(coll_isend(comm, &mem[i * 1024], 4 + i % 4000, COLL_BYTE, r,
					(uint32_t)i, &reqs[i * size + r]), "isend");
	}
	must(coll_probe(comm, me, 0, &got), "probe");
	if (got.source != me || got.tag || got.bytes != 4)
		complain("probe: %u from %u", got.tag, got.source);
	for (i = 0; i < n * size; i++)
		take(&sum);
	if (sum != want)
		complain("probe: sum %llu, not %llu", (unsigned long long)sum,
			 (unsigned long long)want);
	must(coll_waitall(reqs, n * size), "waitall");
	must(coll_iprobe(comm, me, COLL_TAG_ANY, &found, NULL), "iprobe");
	if (found)
		complain("iprobe finds what has been received");
	free(mem);
	free(reqs);
}

/*
 * All ranks but 0 send data of a collective, and a message behind it. Rank 0 wants all messages
 * first. The data has to be put aside meanwhile.
 */
static void mode_behind(uint64_t bytes)
{
	coll_request_t **reqs = calloc(size, sizeof(*reqs)), *gather;
	uint8_t *in = malloc(bytes), *all = me ? NULL : malloc(bytes * size);
	const uint64_t len = 100000;
	uint8_t *mem = malloc(me ? len : len * size);
	uint32_t r;

	if (!reqs || !in || !mem || (!me && !all))
		must(-ENOMEM, "memory");
	must(coll_comm_set_algorithm(comm, COLL_GATHER, "linear"), "set_algorithm");
	must(coll_barrier(comm), "barrier");
	fill(in, bytes, me);
	if (me) {
		must(coll_igather(comm, in, all, bytes, COLL_U8, 0, &gather), "igather");
		usleep(500000);
		fill(mem, len, size + me);
		must(coll_send(comm, mem, len, COLL_U8, 0, 1), "send");
	} else {
		for (r = 1; r < size; r++)
			must(coll_irecv(comm, mem + r * len, len, COLL_U8, r, 1, NULL, &reqs[r]),
			     "irecv");
		must(coll_waitall(&reqs[1], size - 1), "waitall");
		must(coll_igather(comm, in, all, bytes, COLL_U8, 0, &gather), "igather");
	}
	must(coll_wait(gather), "gather");
	for (r = 0; r < size && !me; r++)
		if (!right(all + r * bytes, bytes, r) ||
		    (r && !right(mem + r * len, len, size + r)))
			complain("wrong bytes of rank %u", r);
	free(mem);
	free(all);
	free(in);
	free(reqs);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 0) : 1000;

	must(coll_init(NULL, &comm), "coll_init");
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	must(coll_comm_set_timeout(comm, 150000000000ULL), "set_timeout");
	if (!strcmp(mode, "ring"))
		mode_ring();
	else if (!strcmp(mode, "storm"))
		mode_storm(seed, n);
	else if (!strcmp(mode, "mixed"))
		mode_mixed();
	else if (!strcmp(mode, "ways"))
		mode_ways();
	else if (!strcmp(mode, "flood"))
		mode_flood(n);
	else if (!strcmp(mode, "probe"))
		mode_probe(seed);
	else if (!strcmp(mode, "behind"))
		mode_behind(seed);
	else
		complain("usage: p2p_rank ring|storm|mixed|ways|flood|probe|behind [SEED [N]]");
	must(coll_barrier(comm), "the end");
	must(coll_finalize(comm), "finalize");
	return bad != 0;
}
