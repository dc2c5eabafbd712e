/* SPDX-License-Identifier: GPL-2.0 */
/* Buffers that consist of pieces of other ones, in any order: nothing is copied. */
#ifndef COLL_CORE_PIECES_H
#define COLL_CORE_PIECES_H

#include "buf.h"

/**
 * coll_pieces_alloc() - a buffer without pieces
 * @most: largest number of pieces that it will have
 *
 * Its addresses begin at 0. Return: the buffer with one reference, NULL if there is no memory.
 */
struct coll_buf *coll_pieces_alloc(u32 most);

/**
 * coll_pieces_add() - add a piece behind the others
 * @buf: from coll_pieces_alloc(), not in use yet
 * @vec: vector that the piece is a part of; it has no gaps
 * @off: offset of the piece in @vec
 * @len: bytes, not 0
 *
 * Return: 0; -EBADE if it is not all inside of the vector, or there are @most pieces already.
 */
int coll_pieces_add(struct coll_buf *buf, const struct coll_vec *vec, u64 off, u64 len);

#endif /* COLL_CORE_PIECES_H */
