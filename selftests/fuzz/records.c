// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays a node that speaks of named collectives, the child of the real one or its
 * parent: right records, of which some bytes are changed. Each tensor has one result, and
 * soon after the peer has hung up.
 */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "peer.h"
#include "pure/coord/coord_wire.h"

#define NAMES		3
#define RECORDS		6
#define DEADLINE	20000000ULL
#define LATE_NS		5000000000ULL

_Static_assert(WIRE_BYTES == PEER_BYTES, "a peer does not fit");

static const char names[NAMES][4] = { "a", "bb", "ccc" };
static struct coll_cmd cmds[NAMES];
static int32_t mem[NAMES][64];

static void post_all(struct peer *p, uint64_t *lots)
{
	struct coll_tensor t[NAMES];
	uint32_t k, posted;
	int ret;

	for (k = 0; k < NAMES; k++) {
		raw_barrier(&cmds[k]);
		if (test_below(lots, 2))
			raw_allreduce(&cmds[k], mem[k], mem[k], 64, COLL_I32, COLL_OP_SUM);
		if (cmds[k].collective == COLL_ALLREDUCE) {
			cmds[k].send_addr = 0;
			cmds[k].flags = COLL_CMD_INPLACE;
		}
		cmds[k].timeout_ns = DEADLINE;
		raw_tensor(&t[k], names[k], &cmds[k], k + 1);
	}
	ret = raw_post(p->c.fd[0], t, NAMES, &posted);
	if (ret || posted != NAMES)
		fuzz_complain("%u tensors posted: %d", posted, ret);
}

/* A record of the peer about a name; mostly a right one. */
static void put_record(struct wire_bytes *b, uint32_t rank, uint32_t k, uint32_t round,
		       uint64_t *lots)
{
	struct coll_coord_rec r = {
		.kind = rank ? COLL_ORDER_START : COLL_READY,
		.id = rank ? 10 + k : 0,
		.round = round,
		.serial = rank ? round * NAMES + k + 1 : 0,
		.rank = !rank,
		.contributors = rank ? 2 : 1,
		.has_params = true,
		.name = (const u8 *)names[k],
		.name_len = strlen(names[k]),
	};

	r.params.field[COLL_FIELD_COLLECTIVE] = cmds[k].collective;
	if (cmds[k].collective == COLL_ALLREDUCE) {
		r.params.field[COLL_FIELD_DTYPE] = COLL_I32;
		r.params.field[COLL_FIELD_OP] = COLL_OP_SUM;
		r.params.field[COLL_FIELD_NDIM] = 1;
		r.params.field[COLL_FIELD_DIM0] = 64;
	}
	if (!test_below(lots, 4))
		r.kind = 1 + test_below(lots, COLL_NR_KINDS - 1);
	if (!test_below(lots, 8))
		r.params.field[test_below(lots, COLL_NR_FIELDS)] = test_below(lots, 3);
	if (!test_below(lots, 8))
		r.bad.cause = test_below(lots, COLL_NR_BAD);
	if (!test_below(lots, 8))
		r.round = test_below(lots, 3);
	if (!test_below(lots, 8))
		r.id = test_below(lots, 16);
	if (!test_below(lots, 8))
		r.name_len = 0;
	if (!test_below(lots, 8))
		r.has_params = false;
	b->len += coll_coord_put(b->mem + b->len, &r);
}

/* A frame of one or two records: those of the names from @from on. Return: the next name. */
static uint32_t put_records(struct wire_bytes *b, const struct peer *p, uint32_t rank,
			    uint32_t from, uint64_t *lots)
{
	size_t begin = b->len;
	struct coll_frame f;
	uint32_t n = 1 + test_below(lots, 2);

	b->len += COLL_WIRE_HDR;
	while (n--) {
		put_record(b, rank, from % NAMES, from / NAMES, lots);
		from++;
	}
	peer_frame(p, &f, COLL_FRAME_TENSOR, b->len - begin - COLL_WIRE_HDR);
	coll_wire_put_header(b->mem + begin, &f);
	return from;
}

/* Every tensor has one result. */
static void finish(struct peer *p, uint64_t begin)
{
	struct coll_tensor_result r[NAMES + 1];
	uint32_t seen = 0;
	int i, got, n = 0;

	do {
		got = raw_collect(p->c.fd[0], r, NAMES + 1, 1, LATE_NS);
		for (i = 0; i < got; i++) {
			if (!r[i].tag || r[i].tag > NAMES || seen & 1U << r[i].tag)
				fuzz_complain("a result too many, of %llu",
					      (unsigned long long)r[i].tag);
			else
				seen |= 1U << r[i].tag;
		}
		n += got > 0 ? got : 0;
	} while (got > 0);
	if (n != NAMES)
		fuzz_complain("%d results of %d: %d", n, NAMES, got);
	if (test_now_ns() - begin > LATE_NS)
		fuzz_complain("took %llu ms",
			      (unsigned long long)(test_now_ns() - begin) / 1000000);
}

unsigned int wire_named(const struct fuzz_seeds *s, uint64_t lots)
{
	uint32_t rank = test_below(&lots, 2), from = 0, k, inputs;
	static struct wire_bytes b[2];
	uint64_t begin;
	struct peer p;

	if (peer_start_named(&p, rank)) {
		fuzz_complain("no communicator to begin with");
		return 0;
	}
	post_all(&p, &lots);
	b[0].len = 0;
	b[1].len = 0;
	while (from < RECORDS && (from < NAMES || test_below(&lots, 2)))
		from = put_records(&b[0], &p, rank, from, &lots);
	for (k = 0; k < NAMES; k++)
		b[1].len += peer_put_op(&p, &cmds[k], k + 1, 20 + test_below(&lots, 900),
					b[1].mem + b[1].len);
	inputs = (b[0].len + b[1].len) / COLL_WIRE_HDR;
	wire_change(&b[test_below(&lots, 4) ? 0 : 1], s, &lots);
	begin = test_now_ns();
	wire_write(&p, 0, &b[0], &lots);
	wire_write(&p, 1, &b[1], &lots);
	test_sleep_us(test_below(&lots, 3) * 2000);
	peer_close(&p, 0, test_below(&lots, 2));
	peer_close(&p, 1, test_below(&lots, 2));
	finish(&p, begin);
	peer_stop(&p);
	return inputs;
}
