/* SPDX-License-Identifier: GPL-2.0 */
/* Vectors of buffers that consist of several spans, or of pieces of other buffers. */
#ifndef COLL_CORE_BUF_SPAN_H
#define COLL_CORE_BUF_SPAN_H

#include <linux/types.h>

struct coll_area;
struct coll_buf;
struct coll_vec;

/* Are the @len bytes at address @at inside of the buffer, all in the same span? */
bool coll_buf_has(const struct coll_buf *buf, u64 at, u64 len);

/* Is any byte of the buffer in [@begin, @end)? @end is not 0. */
bool coll_buf_meets(const struct coll_buf *buf, u64 begin, u64 end);

/* Are the spans of the buffer exactly those of the area? */
bool coll_buf_is(const struct coll_buf *buf, const struct coll_area *area);

/* Are the @len bytes at @off of a vector inside of its buffer, all in the same span? */
bool coll_vec_has(const struct coll_vec *v, u64 off, u64 len);

/* Index of the page that byte @off of a vector lies in. The byte is inside of the buffer. */
unsigned long coll_vec_page(const struct coll_vec *v, u64 off);

/**
 * coll_piece_find() - the vector that a byte of a buffer of pieces is in
 * @buf: the buffer
 * @at: byte, inside of it
 * @off: result: where in that vector
 * @left: result: bytes from there to the end of the piece
 */
const struct coll_vec *coll_piece_find(const struct coll_buf *buf, u64 at, u64 *off, u64 *left);

#endif /* COLL_CORE_BUF_SPAN_H */
