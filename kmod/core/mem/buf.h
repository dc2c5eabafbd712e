/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User memory that collectives read and write.
 *
 * A struct coll_buf is a range of one process's address space, or several spans of it with
 * gaps between them (area.h): pages in a gap are never touched. Usually all pages of a buffer
 * are pinned while it lives, and charged to the user's locked memory. If RLIMIT_MEMLOCK forbids
 * that, a plain op gets a buffer without pins: each page is pinned only while it is accessed (a
 * window of one page). Scratch is memory of the kernel that ops use like a buffer. Borrowed
 * pages are pinned by io_uring, charged to its buffer, and stay pinned longer than our buffer
 * lives. A buffer may also consist of pieces of other buffers (pieces.h).
 *
 * Owner: the holder of the reference. Registered buffers are owned by their
 * member, and by each op that uses them.
 */
#ifndef COLL_CORE_BUF_H
#define COLL_CORE_BUF_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct bio_vec;
struct coll_area;
struct coll_piece;
struct coll_span;
struct cred;

/* The most bytes that a buffer of pieces may have. */
#define COLL_PIECES_BYTES	(1ULL << 48)

/**
 * struct coll_memlock - the account to which pins are charged
 * @cred: of the file; keeps the user_struct alive
 * @mm: address space of the buffers; mm_struct only, may be empty already
 * @unlimited: CAP_IPC_LOCK at open time
 */
struct coll_memlock {
	const struct cred *cred;
	struct mm_struct *mm;
	bool unlimited;
};

/**
 * struct coll_buf - a range of user memory
 * @ref: holders
 * @addr: first byte
 * @len: bytes, not 0; from the first span to the last one, if there are several
 * @spans: sorted by address; owned. NULL: one span.
 * @nr_spans: number of @spans; 0: one
 * @digest: of the spans, to compare them quickly
 * @pages: pinned pages, from the page of @addr on; the pages of a span follow those of
 *	the span before; NULL: windows
 * @nr_pages: number of pages; also what is charged to @cred's user
 * @write: may be written
 * @cred: charged user, referenced; NULL if nothing is charged: scratch other than a saved input,
 *	windows, borrowed pages
 * @scratch: pages are the kernel's, not pinned ones
 * @borrowed: io_uring has pinned the pages, and unpins them; @addr is only an offset in a page
 * @mm: address space, grabbed; windows only
 * @pieces: pieces that it consists of; owned. NULL: it consists of its pages.
 * @nr_pieces: number of @pieces
 * @most_pieces: allocated size of @pieces
 * @windows: some of @pieces are in windows
 */
struct coll_buf {
	struct kref ref;
	u64 addr;
	u64 len;
	struct coll_span *spans;
	u32 nr_spans;
	u64 digest;
	struct page **pages;
	unsigned long nr_pages;
	bool write;
	bool scratch;
	bool borrowed;
	const struct cred *cred;
	struct mm_struct *mm;
	struct coll_piece *pieces;
	u32 nr_pieces;
	u32 most_pieces;
	bool windows;
};

/**
 * struct coll_vec - a vector of an op: a place in a buffer
 * @buf: the buffer, referenced; NULL for no vector
 * @start: byte offset of the vector in the buffer. If the first block of a vector has a
 *	displacement, the vector may begin before the buffer. Then @start is a negative
 *	number modulo 2^64. Sums with offsets are modulo 2^64, too.
 */
struct coll_vec {
	struct coll_buf *buf;
	u64 start;
};

/**
 * struct coll_piece - a part of a buffer that consists of pieces, up to the next one
 * @at: where it begins in the buffer
 * @vec: its place in another buffer, which is referenced
 */
struct coll_piece {
	u64 at;
	struct coll_vec vec;
};

/**
 * struct coll_run - bytes of a vector that are contiguous in kernel addresses
 * @addr: first byte
 * @len: bytes
 * @page: pinned just for this run; NULL if the buffer pins it
 * @write: @page is to be marked dirty
 */
struct coll_run {
	void *addr;
	u32 len;
	bool write;
	struct page *page;
};

/**
 * coll_buf_pin() - make a buffer of the caller's memory, pages pinned
 * @ml: the account of the pins
 * @area: which memory, after coll_area_join()
 * @write: collectives will write to it
 *
 * Sleeps. Called by the process that owns the memory. Pages between the spans of @area are
 * neither pinned nor charged, and may be unmapped.
 *
 * Return: the buffer with one reference; -EFAULT if memory is not mapped or not writable;
 * -EDQUOT if it is beyond the limit; -ENOMEM; -EINVAL if it is too long; -EINTR if the thread is
 * killed. After an error nothing stays charged.
 */
struct coll_buf *coll_buf_pin(const struct coll_memlock *ml, const struct coll_area *area,
			      bool write);

/**
 * coll_buf_window() - make a buffer whose pages are pinned as they are touched
 *
 * As coll_buf_pin(), but charges nothing, and checks only the first and the last byte of each span.
 */
struct coll_buf *coll_buf_window(const struct coll_memlock *ml, const struct coll_area *area,
				 bool write);

/**
 * coll_buf_scratch() - kernel memory, as a buffer
 * @len: bytes, not 0
 * @killable: give up when the caller is being killed. Not for ops in which other ranks wait:
 *	they have to get the end of the process as the cause, not a lack of memory.
 *
 * Return: the buffer with one reference, NULL if there is no memory.
 */
struct coll_buf *coll_buf_scratch(u64 len, bool killable);

/**
 * coll_buf_scratch_begin() - kernel memory, as a buffer that has no pages yet
 * @len: bytes, not 0
 *
 * Does not start the OOM killer. Return: the buffer with one reference, NULL if there is no
 * memory.
 */
struct coll_buf *coll_buf_scratch_begin(u64 len);

/**
 * coll_buf_scratch_more() - allocate more pages of a buffer
 * @buf: from coll_buf_scratch_begin(), not in use yet
 * @most: the most pages to allocate in this call
 *
 * Return: 1 it has all of them; 0 not yet; -ENOMEM.
 */
int coll_buf_scratch_more(struct coll_buf *buf, unsigned long most);

/**
 * coll_buf_borrow() - make a buffer of pages that io_uring keeps in memory
 * @bv: the pages; a piece may have several pages, and any offset
 * @skip: bytes of the first piece to leave out
 * @len: bytes, not 0; @bv has at least that many behind @skip
 * @write: collectives will write to it
 *
 * io_uring keeps the pages until the request that the buffer is for is completed. The last
 * reference to the buffer is dropped before that.
 *
 * Return: the buffer with one reference; -EOPNOTSUPP if a page in the middle is not whole, or may
 * not be given to a socket; -EINVAL if it is too long; -ENOMEM.
 */
struct coll_buf *coll_buf_borrow(const struct bio_vec *bv, size_t skip, u64 len, bool write);

/**
 * coll_buf_save() - a copy of a vector, in kernel memory
 * @ml: the account, as for pins, because this memory cannot be swapped either
 * @v: vector
 * @addr: address of the beginning of the vector, in the addresses of @area
 * @area: bytes to copy, not empty
 *
 * Sleeps. The byte with address x in the area is at offset x - @addr of the vector, and at
 * offset x - copy->addr of the copy.
 * Return: a buffer with one reference; -EDQUOT beyond the limit; -ENOMEM; -EINTR if the thread is
 * killed; or as coll_vec_run().
 */
struct coll_buf *coll_buf_save(const struct coll_memlock *ml, const struct coll_vec *v,
			       u64 addr, const struct coll_area *area);

/* RLIMIT_MEMLOCK in bytes that would let this user pin the area just now. */
u64 coll_buf_memlock_wanted(const struct coll_memlock *ml, const struct coll_area *area);

void coll_buf_get(struct coll_buf *buf);

/* May sleep. Unpins and uncharges with the last reference. NULL is fine. */
void coll_buf_put(struct coll_buf *buf);

/* Address of byte @off of a vector, in the addresses of its buffer. */
static inline u64 coll_vec_addr(const struct coll_vec *v, u64 off)
{
	return v->buf->addr + v->start + off;
}

/**
 * coll_pin_page() - pin a page of another process, to write to it
 * @mm: its address space; the caller has a reference to its users
 * @addr: any address in the page
 * @until: time in jiffies, when it gives up if it cannot get mmap_lock
 * @page: result; unpin_user_pages_dirty_lock() gives it back
 *
 * Used by workers that serve all users: another thread of that process may hold mmap_lock for a long
 * time. The page fault itself may take longer. Return: 0 or -EFAULT.
 */
int coll_pin_page(struct mm_struct *mm, u64 addr, unsigned long until, struct page **page);

/**
 * coll_vec_run() - kernel address of a piece of a vector
 * @v: vector
 * @off: byte offset in the vector
 * @max: the most bytes wanted, not 0; the caller makes sure that they are inside the vector
 * @run: result; give it back with coll_run_put()
 *
 * Sleeps for windows. Return: 0. For windows only: -EFAULT if the memory is not mapped any more;
 * -ESRCH if the address space has gone: then the end of the process is being reported anyway.
 */
int coll_vec_run(const struct coll_vec *v, u64 off, u32 max, struct coll_run *run);

void coll_run_put(struct coll_run *run);

/* Memory node of byte @off of a vector; NUMA_NO_NODE: not known. */
int coll_vec_nid(const struct coll_vec *v, u64 off);

/**
 * coll_vec_bvecs() - describe a piece of a vector for a socket
 * @v: vector
 * @off: byte offset
 * @len: bytes wanted
 * @bv: result, @max entries
 * @max: room
 * @nr: result: entries used
 *
 * Windows give one entry per page, to be released with coll_bvecs_put().
 *
 * Return: bytes described (> 0, may be less than @len), or -EFAULT or -ESRCH as
 * coll_vec_run(): then nothing is to be released, and @nr is 0.
 */
int coll_vec_bvecs(const struct coll_vec *v, u64 off, u32 len,
		   struct bio_vec *bv, unsigned int max, unsigned int *nr);

/* @off: as it was given to coll_vec_bvecs(). */
void coll_bvecs_put(const struct coll_vec *v, u64 off, struct bio_vec *bv, unsigned int nr);

/* Do the pages live as long as the buffer? NULL is no buffer, and needs no pages. */
static inline bool coll_buf_is_pinned(const struct coll_buf *buf)
{
	return !buf || buf->pages || (buf->pieces && !buf->windows);
}

/* Do the pages live as long as the buffer, and is sending them without a copy faster? */
bool coll_buf_may_zerocopy(const struct coll_buf *buf);

/**
 * coll_vec_copy() - move bytes between a vector and a kernel buffer
 * @v: vector
 * @off: byte offset
 * @mem: kernel buffer
 * @len: bytes
 * @to_vec: direction
 */
int coll_vec_copy(const struct coll_vec *v, u64 off, void *mem, u32 len,
		  bool to_vec);

#endif /* COLL_CORE_BUF_H */
