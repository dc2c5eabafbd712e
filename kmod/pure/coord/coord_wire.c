// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Records of the coordinator as bytes. A record is a header of 24 bytes:
 *
 *	 0  1  kind
 *	 1  1  flags
 *	 2  1  bytes of the name
 *	 3  1  0
 *	 4  4  id
 *	 8  4  round
 *	12  4  rank
 *	16  4  contributors
 *	20  4  serial
 *
 * and behind it, as the flags say, 48 bytes of struct coll_coord_bad, all fields of struct
 * coll_coord_params, 8 bytes each, and the name. Numbers are little-endian. Nothing is
 * padded.
 */
#include "../bytes.h"
#include "coord_priv.h"
#include "coord_wire.h"

#define REC_LAST	(1U << 0)
#define REC_JOINED	(1U << 1)
#define REC_BAD		(1U << 2)
#define REC_PARAMS	(1U << 3)
#define REC_FLAGS	(REC_LAST | REC_JOINED | REC_BAD | REC_PARAMS)

#define REC_HDR		24
#define REC_BAD_LEN	48
#define REC_PARAMS_LEN	(8 * COLL_NR_FIELDS)

static void coll_coord_put_bad(u8 *p, const struct coll_coord_bad *bad)
{
	u32 k;

	put32(p, bad->cause);
	put32(p + 4, bad->field);
	for (k = 0; k < 2; k++) {
		put32(p + 8 + 4 * k, bad->rank[k]);
		put64(p + 16 + 8 * k, bad->value[k]);
		put64(p + 32 + 8 * k, bad->group[k]);
	}
}

static void coll_coord_get_bad(const u8 *p, struct coll_coord_bad *bad)
{
	u32 k;

	bad->cause = get32(p);
	bad->field = get32(p + 4);
	for (k = 0; k < 2; k++) {
		bad->rank[k] = get32(p + 8 + 4 * k);
		bad->value[k] = get64(p + 16 + 8 * k);
		bad->group[k] = get64(p + 32 + 8 * k);
	}
}

/* Records with a number: see struct coll_coord_rec. */
static bool coll_coord_is_numbered(u8 kind)
{
	return kind < COLL_READY || kind == COLL_JOIN || kind == COLL_GOT;
}

u32 coll_coord_put(u8 *buf, const struct coll_coord_rec *r)
{
	u32 n = REC_HDR, k;

	memset(buf, 0, REC_HDR);
	buf[0] = r->kind;
	buf[1] = (r->last ? REC_LAST : 0) | (r->with_joined ? REC_JOINED : 0) |
		 (r->bad.cause ? REC_BAD : 0) | (r->has_params ? REC_PARAMS : 0);
	buf[2] = r->name_len;
	put32(buf + 4, r->id);
	put32(buf + 8, r->round);
	put32(buf + 12, r->rank);
	put32(buf + 16, r->contributors);
	put32(buf + 20, r->serial);
	if (r->bad.cause) {
		coll_coord_put_bad(buf + n, &r->bad);
		n += REC_BAD_LEN;
	}
	for (k = 0; r->has_params && k < COLL_NR_FIELDS; k++, n += 8)
		put64(buf + n, r->params.field[k]);
	if (r->name_len)
		memcpy(buf + n, r->name, r->name_len);
	return n + r->name_len;
}

u32 coll_coord_get(const u8 *buf, u32 len, struct coll_coord_rec *r)
{
	u32 n = REC_HDR, flags, all, k;

	if (len < REC_HDR)
		return 0;
	flags = buf[1];
	all = REC_HDR + (flags & REC_BAD ? REC_BAD_LEN : 0) +
	      (flags & REC_PARAMS ? REC_PARAMS_LEN : 0) + buf[2];
	if (flags & ~REC_FLAGS || buf[3] || !buf[0] || buf[0] >= COLL_NR_KINDS || len < all ||
	    (get32(buf + 20) && !coll_coord_is_numbered(buf[0])))
		return 0;
	*r = (struct coll_coord_rec){
		.kind = buf[0],
		.last = flags & REC_LAST,
		.with_joined = flags & REC_JOINED,
		.has_params = flags & REC_PARAMS,
		.id = get32(buf + 4),
		.round = get32(buf + 8),
		.rank = get32(buf + 12),
		.contributors = get32(buf + 16),
		.serial = get32(buf + 20),
		.name_len = buf[2],
		.name = buf[2] ? buf + all - buf[2] : NULL,
	};
	if (flags & REC_BAD) {
		coll_coord_get_bad(buf + n, &r->bad);
		n += REC_BAD_LEN;
	}
	for (k = 0; r->has_params && k < COLL_NR_FIELDS; k++, n += 8)
		r->params.field[k] = get64(buf + n);
	return all;
}
