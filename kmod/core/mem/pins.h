/* SPDX-License-Identifier: GPL-2.0 */
/* Pins of plain buffers, kept from one op to the next. */
#ifndef COLL_CORE_PINS_H
#define COLL_CORE_PINS_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct coll_area;
struct coll_buf;
struct coll_memlock;
struct coll_pins_user;
struct coll_vec;

/**
 * struct coll_pins - what is kept for a member
 * @list: struct coll_pin, most recently used first
 * @tree: the same, by address
 * @bytes: pinned by them
 * @nr: number of them
 * @user: charged user, referenced; set once, with release; NULL: nothing has been kept yet
 *
 * All members but @user: under user->lock.
 */
struct coll_pins {
	struct list_head list;
	struct rb_root_cached tree;
	u64 bytes;
	u32 nr;
	struct coll_pins_user *user;
};

void coll_pins_init(struct coll_pins *pins);

/**
 * coll_pins_take() - a buffer with these bytes of the caller's memory, pinned
 * @pins: what is kept for the caller
 * @ml: of the calling process
 * @area: which memory, after coll_area_join()
 * @write: collectives will write to it
 *
 * Returns the buffer of an earlier op, if the memory is still the same; else a new one, which may
 * be kept. The buffer may have more bytes than @area.
 *
 * Return: as coll_buf_pin().
 */
struct coll_buf *coll_pins_take(struct coll_pins *pins, const struct coll_memlock *ml,
				 const struct coll_area *area, bool write);

/**
 * coll_pins_pin() - as coll_buf_pin(), but drops kept pins if the charge does not fit
 * @ml: of the calling process
 * @area: which memory, after coll_area_join()
 * @write: collectives will write to it
 *
 * Return: as coll_buf_pin(); -EDQUOT: buffers of ops and registered buffers have too many pages.
 */
struct coll_buf *coll_pins_pin(const struct coll_memlock *ml, const struct coll_area *area,
				bool write);

/**
 * coll_pins_save() - as coll_buf_save(), but drops kept pins if the charge does not fit
 * @ml: of the calling process
 * @v: vector
 * @addr: address of the beginning of the vector, in the addresses of @area
 * @area: bytes to copy, not empty
 *
 * Return: as coll_buf_save().
 */
struct coll_buf *coll_pins_save(const struct coll_memlock *ml, const struct coll_vec *v, u64 addr,
				const struct coll_area *area);

/* Drop all kept pins of a member that is released. Sleeps. */
void coll_pins_release(struct coll_pins *pins);

#endif /* COLL_CORE_PINS_H */
