/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Areas: which bytes of the caller's memory a vector consists of.
 *
 * Most vectors are one range. The vector of a v-form with displacements is a block for
 * each rank. The gaps between the blocks are not part of it: they may be unmapped, or
 * read-only, or hold other data. So an area is a list of spans. It is sorted by address,
 * and the spans have no byte in common.
 *
 * An area lives while a command is decoded. It owns its list.
 */
#ifndef COLL_CORE_AREA_H
#define COLL_CORE_AREA_H

#include <linux/mm.h>
#include <linux/types.h>

/**
 * struct coll_span - bytes that lie together
 * @at: user address of the first byte
 * @len: number of bytes, not 0
 * @page: in a struct coll_buf: index of the page that @at lies in
 */
struct coll_span {
	u64 at;
	u64 len;
	unsigned long page;
};

/**
 * struct coll_area - the bytes of a vector
 * @nr: spans; 0: no bytes
 * @one: the span, if there is only one and @many is NULL
 * @many: the spans, sorted; owned by the area
 * @digest: of @many, set by coll_area_join()
 */
struct coll_area {
	u32 nr;
	struct coll_span one;
	struct coll_span *many;
	u64 digest;
};

/* An area of one range. @len may be 0. */
static inline struct coll_area coll_area_range(u64 at, u64 len)
{
	return (struct coll_area){ .nr = !!len, .one = { .at = at, .len = len } };
}

static inline const struct coll_span *coll_area_spans(const struct coll_area *a)
{
	return a->many ?: &a->one;
}

/* Address of the first byte. The area is not empty. */
static inline u64 coll_area_at(const struct coll_area *a)
{
	return coll_area_spans(a)->at;
}

/* Bytes from the first one to the last one, gaps included. */
static inline u64 coll_area_reach(const struct coll_area *a)
{
	const struct coll_span *last = coll_area_spans(a) + a->nr - 1;

	return a->nr ? last->at + last->len - coll_area_at(a) : 0;
}

/**
 * coll_area_blocks() - the area of a vector of blocks
 * @a: result; to be freed with coll_area_free(), also on errors
 * @addr: user address that displacements count from
 * @counts: elements of each block; an empty block may have any displacement
 * @displs: where each block begins, in elements
 * @nr: blocks
 * @elem: bytes of an element
 * @apart: refuse two blocks that have a byte in common
 *
 * Return: 0; -EINVAL if a block is too long, or if blocks overlap and @apart is set; -EFAULT if a
 * block is not user memory; -ENOMEM.
 */
int coll_area_blocks(struct coll_area *a, u64 addr, const u64 *counts, const u64 *displs,
		     u32 nr, u32 elem, bool apart);

/**
 * coll_area_unite() - the bytes of two areas
 * @a: result; to be freed, also on errors
 * @b: area, not empty
 * @c: area, not empty
 *
 * Return: 0 or -ENOMEM.
 */
int coll_area_unite(struct coll_area *a, const struct coll_area *b, const struct coll_area *c);

/**
 * coll_area_join() - join spans for pinning
 * @a: area, not empty
 *
 * If there are several spans, each of them becomes a run of whole pages. Spans are joined if
 * they have a page in common, or if there is no page between them. Every page of a joined span
 * has a byte of the area.
 */
void coll_area_join(struct coll_area *a);

/**
 * coll_area_check() - can the area be memory of the caller?
 * @a: area
 *
 * The result of all functions that count bytes or pages is right only if this has returned 0.
 * Return: 0; -EINVAL if there are no bytes, or more than COLL_MAX_BUFFER; -EFAULT if a span wraps,
 * or is not user memory.
 */
int coll_area_check(const struct coll_area *a);

/* Pages that the spans lie in. Exact if no two spans have a page in common. */
unsigned long coll_area_pages(const struct coll_area *a);

/* Bytes of all spans. */
u64 coll_area_bytes(const struct coll_area *a);

/* Do the two areas have a byte in common? */
bool coll_areas_meet(const struct coll_area *a, const struct coll_area *b);

/* Do the two areas have the same bytes? Only before coll_area_join(). */
bool coll_areas_equal(const struct coll_area *a, const struct coll_area *b);

/* Free the list. The area may be all zero. */
void coll_area_free(struct coll_area *a);

/* Pages that a range lies in. @len is not 0. It may be any other number: nothing here wraps. */
static inline unsigned long coll_range_pages(u64 at, u64 len)
{
	u64 last = len - 1;

	return (last >> PAGE_SHIFT) + ((offset_in_page(at) + offset_in_page(last)) >> PAGE_SHIFT) + 1;
}

/**
 * coll_span_find() - the span that an address lies in, if it lies in one
 * @spans: sorted
 * @nr: number of @spans, not 0
 * @at: address
 *
 * Return: the last span that does not begin behind @at, else the first one. The caller has to
 * check whether @at lies in it.
 */
const struct coll_span *coll_span_find(const struct coll_span *spans, u32 nr, u64 at);

#endif /* COLL_CORE_AREA_H */
