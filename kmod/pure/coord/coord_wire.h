/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The encoding of records. */
#ifndef COLL_PURE_COORD_WIRE_H
#define COLL_PURE_COORD_WIRE_H

#include "coord_types.h"

/* Bytes of a record at most; a frame holds two of them. */
#define COLL_COORD_REC_MAX	(24 + 48 + 8 * COLL_NR_FIELDS + COLL_COORD_NAME_MAX)

/* Encode. Return: bytes. */
u32 coll_coord_put(u8 *buf, const struct coll_coord_rec *r);

/**
 * coll_coord_get() - decode the first record
 * @buf: bytes of a peer
 * @len: number of bytes
 * @r: result; its name is in @buf
 *
 * Return: bytes of the record, or 0 if it is none.
 */
u32 coll_coord_get(const u8 *buf, u32 len, struct coll_coord_rec *r);

#endif /* COLL_PURE_COORD_WIRE_H */
