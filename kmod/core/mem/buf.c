// SPDX-License-Identifier: GPL-2.0
#include <linux/bvec.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "../../compat.h"
#include "../limits.h"
#include "area.h"
#include "buf.h"
#include "buf_span.h"

/* Pages for one pin call: bounds the time between two signal checks. */
#define COLL_PIN_BATCH	1024

/*
 * Charge the user, not the process: forks share one allowance. io_uring and AF_XDP use the same
 * counter, so that the sum is limited.
 */
static int coll_charge(const struct coll_memlock *ml, unsigned long pages)
{
	atomic_long_t *locked = &ml->cred->user->locked_vm;
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long old = atomic_long_read(locked);
	unsigned long new;

	do {
		if (check_add_overflow((unsigned long)old, pages, &new))
			return -EDQUOT;
		if (!ml->unlimited && new > limit)
			return -EDQUOT;
	} while (!atomic_long_try_cmpxchg(locked, &old, (long)new));
	return 0;
}

static void coll_uncharge(const struct cred *cred, unsigned long pages)
{
	atomic_long_sub(pages, &cred->user->locked_vm);
}

/* A buffer keeps its own list of spans, if there are several. */
static int coll_buf_spans(struct coll_buf *buf, const struct coll_area *area)
{
	unsigned long page = 0;
	u32 i;

	buf->spans = kvmalloc_array(area->nr, sizeof(*buf->spans), GFP_KERNEL_ACCOUNT);
	if (!buf->spans)
		return -ENOMEM;
	buf->nr_spans = area->nr;
	buf->digest = area->digest;
	for (i = 0; i < area->nr; i++) {
		buf->spans[i] = coll_area_spans(area)[i];
		buf->spans[i].page = page;
		page += coll_range_pages(buf->spans[i].at, buf->spans[i].len);
	}
	return 0;
}

static struct coll_buf *coll_buf_alloc(const struct coll_area *area, bool write)
{
	struct coll_buf *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	kref_init(&buf->ref);
	buf->addr = coll_area_at(area);
	buf->len = coll_area_reach(area);
	buf->write = write;
	if (area->nr > 1 && coll_buf_spans(buf, area)) {
		kfree(buf);
		return NULL;
	}
	return buf;
}

/*
 * May collectives work on this mapping? Allowed are anonymous and shared memory, private
 * mappings of files, and inputs from any file. An output may not be a shared mapping of a file:
 * the file system has to know of each write. Memory that a user-space server fills in is refused,
 * too: our workers cannot be killed while they wait for the server.
 */
static bool coll_vma_ok(struct vm_area_struct *vma, bool write)
{
	const struct inode *inode;
	unsigned long magic;

	/* A forced pin would not check this. */
	if (!(vma->vm_flags & (write ? VM_WRITE : VM_READ)))
		return false;
	if (vma->vm_flags & (VM_IO | VM_PFNMAP) || userfaultfd_armed(vma))
		return false;
	if (!vma->vm_file)
		return true;
	inode = file_inode(vma->vm_file);
	magic = inode->i_sb->s_magic;
	/* devtmpfs has the number of tmpfs, and its block devices are no memory. */
	if (!S_ISBLK(inode->i_mode) && (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC))
		return true;
	return magic != FUSE_SUPER_MAGIC &&
	       (!write || !(vma->vm_flags & VM_SHARED));
}

/* The same check for a whole range. Under mmap_lock. */
static bool coll_vmas_ok(struct mm_struct *mm, u64 addr, u64 len, bool write)
{
	u64 end = addr + len;

	while (addr < end) {
		struct vm_area_struct *vma = find_vma(mm, addr);

		if (!vma || vma->vm_start > addr || !coll_vma_ok(vma, write))
			return false;
		addr = vma->vm_end;
	}
	return true;
}

static int coll_check_vmas(const struct coll_memlock *ml, const struct coll_area *area,
			   bool write)
{
	const struct coll_span *s = coll_area_spans(area);
	bool ok = true;
	u32 i;

	if (mmap_read_lock_killable(ml->mm))
		return -EINTR;
	for (i = 0; ok && i < area->nr; i++)
		ok = coll_vmas_ok(ml->mm, s[i].at, s[i].len, write);
	mmap_read_unlock(ml->mm);
	return ok ? 0 : -EFAULT;
}

/* Is all of @area in shared mappings? Their pages stay where they are when the process writes. */
static bool coll_area_is_shared(const struct coll_memlock *ml, const struct coll_area *area)
{
	const struct coll_span *s = coll_area_spans(area);
	bool shared = true;
	u32 i;

	if (mmap_read_lock_killable(ml->mm))
		return false;
	for (i = 0; shared && i < area->nr; i++) {
		u64 at = s[i].at, end = at + s[i].len;

		while (shared && at < end) {
			struct vm_area_struct *vma = find_vma(ml->mm, at);

			shared = vma && vma->vm_start <= at && vma->vm_flags & VM_SHARED;
			if (shared)
				at = vma->vm_end;
		}
	}
	mmap_read_unlock(ml->mm);
	return shared;
}

/*
 * How to pin a buffer for long. A forced write fault would make all pages of a shared mapping dirty,
 * and fill the holes of its file.
 */
static unsigned int coll_pin_flags(const struct coll_memlock *ml, const struct coll_area *area,
				   bool write)
{
	if (write)
		return FOLL_LONGTERM | FOLL_WRITE;
	if (COLL_PIN_UNSHARES || coll_area_is_shared(ml, area))
		return FOLL_LONGTERM;
	return FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE;
}

/* Pin one span, behind the pages that @buf has. On error the pages of @buf stay pinned. */
static int coll_pin_span(struct coll_buf *buf, const struct coll_span *s, unsigned int flags)
{
	unsigned long nr = coll_range_pages(s->at, s->len), done = 0;

	while (done < nr) {
		int want = min_t(unsigned long, nr - done, COLL_PIN_BATCH);
		int got;

		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast((s->at & PAGE_MASK) + done * PAGE_SIZE, want, flags,
					  buf->pages + buf->nr_pages);
		if (got <= 0)
			return got == -ENOMEM ? -ENOMEM : -EFAULT;
		done += got;
		buf->nr_pages += got;
		cond_resched();
	}
	return 0;
}

/*
 * Pin all of @buf; on error none of it stays pinned. The caller has checked the mappings, so that
 * no page of a wrong mapping is faulted in. They are checked again afterwards: another thread may
 * have changed them.
 */
static int coll_pin_all(struct coll_buf *buf, const struct coll_memlock *ml,
			const struct coll_area *area, unsigned int flags)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < area->nr; i++)
		ret = coll_pin_span(buf, &coll_area_spans(area)[i], flags);
	if (!ret)
		ret = coll_check_vmas(ml, area, buf->write);
	if (!ret)
		return 0;
	unpin_user_pages(buf->pages, buf->nr_pages);
	buf->nr_pages = 0;
	return ret;
}

struct coll_buf *coll_buf_pin(const struct coll_memlock *ml, const struct coll_area *area,
			      bool write)
{
	unsigned long nr;
	struct coll_buf *buf;
	int ret;

	ret = coll_area_check(area);
	if (ret)
		return ERR_PTR(ret);
	ret = coll_check_vmas(ml, area, write);
	if (ret)
		return ERR_PTR(ret);
	nr = coll_area_pages(area);

	buf = coll_buf_alloc(area, write);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	ret = coll_charge(ml, nr);
	if (ret)
		goto free_buf;
	buf->pages = kvmalloc_array(nr, sizeof(*buf->pages), GFP_KERNEL_ACCOUNT);
	if (!buf->pages) {
		ret = -ENOMEM;
		goto uncharge;
	}
	ret = coll_pin_all(buf, ml, area, coll_pin_flags(ml, area, write));
	/* A part that is shared and read-only cannot be forced, and need not be. */
	if (ret == -EFAULT && !write)
		ret = coll_pin_all(buf, ml, area, FOLL_LONGTERM);
	if (ret)
		goto free_pages;
	buf->cred = get_cred(ml->cred);
	return buf;

free_pages:
	kvfree(buf->pages);
uncharge:
	coll_uncharge(ml->cred, nr);
free_buf:
	kvfree(buf->spans);
	kfree(buf);
	return ERR_PTR(ret);
}

/* Can the window be used at byte @off? */
static int coll_window_probe(const struct coll_vec *v, u64 off)
{
	struct coll_run run;
	int ret = coll_vec_run(v, off, 1, &run);

	if (!ret)
		coll_run_put(&run);
	return ret;
}

struct coll_buf *coll_buf_window(const struct coll_memlock *ml, const struct coll_area *area,
				 bool write)
{
	const struct coll_span *s = coll_area_spans(area);
	struct coll_vec v = { };
	int ret;
	u32 i;

	ret = coll_area_check(area);
	if (ret)
		return ERR_PTR(ret);
	v.buf = coll_buf_alloc(area, write);
	if (!v.buf)
		return ERR_PTR(-ENOMEM);
	mmgrab(ml->mm);
	v.buf->mm = ml->mm;

	/* Wrong addresses are usually found at one of the ends: then the submit call fails. */
	for (i = 0; !ret && i < area->nr; i++) {
		ret = coll_window_probe(&v, s[i].at - v.buf->addr);
		if (!ret)
			ret = coll_window_probe(&v, s[i].at - v.buf->addr + s[i].len - 1);
		cond_resched();
	}
	if (ret) {
		coll_buf_put(v.buf);
		return ERR_PTR(ret);
	}
	return v.buf;
}

static void coll_free_scratch(struct coll_buf *buf)
{
	while (buf->nr_pages)
		__free_page(buf->pages[--buf->nr_pages]);
}

static struct coll_buf *coll_scratch_area(const struct coll_area *area, bool killable)
{
	unsigned long nr = coll_area_pages(area);
	struct coll_buf *buf = coll_buf_alloc(area, true);

	if (!buf)
		return NULL;
	buf->scratch = true;
	buf->pages = kvmalloc_array(nr, sizeof(*buf->pages), COLL_GFP_MAYFAIL);
	while (buf->pages && buf->nr_pages < nr) {
		struct page *page = alloc_page(COLL_GFP_MAYFAIL);

		if (!page || (killable && fatal_signal_pending(current))) {
			if (page)
				__free_page(page);
			coll_buf_put(buf);
			return NULL;
		}
		buf->pages[buf->nr_pages++] = page;
		cond_resched();
	}
	if (!buf->pages) {
		coll_buf_put(buf);
		return NULL;
	}
	return buf;
}

struct coll_buf *coll_buf_scratch(u64 len, bool killable)
{
	const struct coll_area area = coll_area_range(0, len);

	return coll_scratch_area(&area, killable);
}

struct coll_buf *coll_buf_scratch_begin(u64 len)
{
	const struct coll_area area = coll_area_range(0, len);
	struct coll_buf *buf = coll_buf_alloc(&area, true);

	if (!buf)
		return NULL;
	buf->scratch = true;
	buf->pages = kvmalloc_array(coll_area_pages(&area), sizeof(*buf->pages),
				    COLL_GFP_MAYFAIL);
	if (!buf->pages) {
		coll_buf_put(buf);
		return NULL;
	}
	return buf;
}

int coll_buf_scratch_more(struct coll_buf *buf, unsigned long most)
{
	unsigned long nr = coll_range_pages(buf->addr, buf->len);
	struct page *page;

	for (; most && buf->nr_pages < nr; most--) {
		page = alloc_page(COLL_GFP_MAYFAIL);
		if (!page)
			return -ENOMEM;
		buf->pages[buf->nr_pages++] = page;
	}
	return buf->nr_pages == nr;
}

/* Take the pages of @bvecs. But for the first and the last page, all must be whole. */
static int coll_borrow_pages(struct coll_buf *buf, unsigned long nr,
			     const struct bio_vec *bvecs, struct bvec_iter i)
{
	struct bio_vec bv;

	for_each_bvec(bv, bvecs, i, i) {
		if (buf->nr_pages && bv.bv_offset)
			return -EOPNOTSUPP;
		if (buf->nr_pages + 1 < nr && bv.bv_offset + bv.bv_len != PAGE_SIZE)
			return -EOPNOTSUPP;
		if (buf->nr_pages == nr || !sendpage_ok(bv.bv_page))
			return -EOPNOTSUPP;
		buf->pages[buf->nr_pages++] = bv.bv_page;
	}
	return buf->nr_pages == nr ? 0 : -EOPNOTSUPP;
}

struct coll_buf *coll_buf_borrow(const struct bio_vec *bv, size_t skip, u64 len, bool write)
{
	struct bvec_iter i = { .bi_size = len, .bi_bvec_done = skip };
	struct coll_area area;
	struct coll_buf *buf;
	unsigned long nr;
	int ret = -ENOMEM;

	/* The most that an iterator can count. io_uring allows less: 1 GiB. */
	if (len > UINT_MAX || skip > UINT_MAX)
		return ERR_PTR(-EINVAL);
	area = coll_area_range(bvec_iter_offset(bv, i), len);
	buf = coll_buf_alloc(&area, write);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	buf->borrowed = true;
	nr = (buf->addr + len + PAGE_SIZE - 1) >> PAGE_SHIFT;
	buf->pages = kvmalloc_array(nr, sizeof(*buf->pages), GFP_KERNEL_ACCOUNT);
	if (buf->pages)
		ret = coll_borrow_pages(buf, nr, bv, i);
	if (ret) {
		coll_buf_put(buf);
		return ERR_PTR(ret);
	}
	return buf;
}

/* Copy @len bytes from @off of one vector to the same place of another one. */
static int coll_vec_clone(const struct coll_vec *from, const struct coll_vec *to, u64 off,
			  u64 len)
{
	while (len) {
		struct coll_run run;
		int ret = coll_vec_run(to, off, min_t(u64, len, PAGE_SIZE), &run);

		if (!ret)
			ret = coll_vec_copy(from, off, run.addr, run.len, false);
		if (ret)
			return ret;
		off += run.len;
		len -= run.len;
		cond_resched();
	}
	return 0;
}

struct coll_buf *coll_buf_save(const struct coll_memlock *ml, const struct coll_vec *v,
			       u64 addr, const struct coll_area *area)
{
	const struct coll_span *s = coll_area_spans(area);
	struct coll_buf *buf;
	struct coll_vec to;
	unsigned long nr;
	int ret;
	u32 i;

	ret = coll_area_check(area);
	if (ret)
		return ERR_PTR(ret);
	nr = coll_area_pages(area);
	ret = coll_charge(ml, nr);
	if (ret)
		return ERR_PTR(ret);
	buf = coll_scratch_area(area, true);
	if (!buf) {
		coll_uncharge(ml->cred, nr);
		return ERR_PTR(fatal_signal_pending(current) ? -EINTR : -ENOMEM);
	}
	buf->cred = get_cred(ml->cred);
	to = (struct coll_vec){ .buf = buf, .start = addr - buf->addr };
	for (i = 0; i < area->nr; i++) {
		ret = coll_vec_clone(v, &to, s[i].at - addr, s[i].len);
		if (ret) {
			coll_buf_put(buf);
			return ERR_PTR(ret);
		}
	}
	return buf;
}

u64 coll_buf_memlock_wanted(const struct coll_memlock *ml, const struct coll_area *area)
{
	u64 pages = coll_area_pages(area);

	pages += atomic_long_read(&ml->cred->user->locked_vm);
	return pages << PAGE_SHIFT;
}

void coll_buf_get(struct coll_buf *buf)
{
	kref_get(&buf->ref);
}

static void coll_free_pieces(struct coll_buf *buf)
{
	while (buf->nr_pieces)
		coll_buf_put(buf->pieces[--buf->nr_pieces].vec.buf);
	kvfree(buf->pieces);
}

static void coll_buf_release(struct kref *ref)
{
	struct coll_buf *buf = container_of(ref, struct coll_buf, ref);
	unsigned long charged = buf->nr_pages;

	if (buf->scratch)
		coll_free_scratch(buf);
	else if (buf->pieces)
		coll_free_pieces(buf);
	else if (buf->pages && !buf->borrowed)
		unpin_user_pages_dirty_lock(buf->pages, buf->nr_pages, buf->write);
	/* Not before the pages are unpinned: the user could pin as many pages meanwhile. */
	if (buf->cred) {
		coll_uncharge(buf->cred, charged);
		put_cred(buf->cred);
	}
	kvfree(buf->pages);
	kvfree(buf->spans);
	if (buf->mm)
		mmdrop(buf->mm);
	kfree(buf);
}

void coll_buf_put(struct coll_buf *buf)
{
	if (buf)
		kref_put(&buf->ref, coll_buf_release);
}

/* Pin one page of another address space. Return: 1; any other value: it is not pinned. */
static long coll_pin_page_locked(struct mm_struct *mm, u64 addr, bool write, struct page **page)
{
	lockdep_assert_held(&mm->mmap_lock);
	if (!coll_vmas_ok(mm, addr, 1, write))
		return -EFAULT;
	return coll_pin_remote(mm, addr & PAGE_MASK, write ? FOLL_WRITE : 0, page);
}

int coll_pin_page(struct mm_struct *mm, u64 addr, unsigned long until, struct page **page)
{
	long got;

	while (!mmap_read_trylock(mm)) {
		if (time_after(jiffies, until))
			return -EFAULT;
		usleep_range(1000, 2000);
	}
	got = coll_pin_page_locked(mm, addr, true, page);
	mmap_read_unlock(mm);
	return got == 1 ? 0 : -EFAULT;
}

static int coll_window_page(const struct coll_buf *buf, u64 addr,
			    struct page **page)
{
	long got = -EFAULT;

	if (!mmget_not_zero(buf->mm))
		return -ESRCH;
	/* Another process may hold mmap_lock for long. The helping caller must stay killable. */
	if (!mmap_read_lock_killable(buf->mm)) {
		got = coll_pin_page_locked(buf->mm, addr, buf->write, page);
		mmap_read_unlock(buf->mm);
	}
	/* Not mmput(): the last one would tear the mm down under our locks. */
	mmput_async(buf->mm);
	if (got == 1)
		return 0;
	/* A helper that is being killed gives up: its death ends the op. */
	return fatal_signal_pending(current) ? -ESRCH : -EFAULT;
}

int coll_vec_run(const struct coll_vec *v, u64 off, u32 max, struct coll_run *run)
{
	const struct coll_buf *buf = v->buf;
	struct page *page;
	u32 in_page, len;
	unsigned long i;
	u64 left;
	int ret;

	if (buf->pieces) {
		v = coll_piece_find(buf, coll_vec_addr(v, off), &off, &left);
		max = min_t(u64, max, left);
		buf = v->buf;
	}
	in_page = coll_vec_addr(v, off) & ~PAGE_MASK;
	len = PAGE_SIZE - in_page;
	run->page = NULL;
	run->write = buf->write;
	if (!buf->pages) {
		ret = coll_window_page(buf, coll_vec_addr(v, off), &page);
		if (ret)
			return ret;
		run->page = page;
	} else {
		i = coll_vec_page(v, off);
		page = buf->pages[i];
		/* pages that are contiguous in memory are one run: huge pages, or by chance */
		while (len < max && page_to_pfn(buf->pages[i + 1]) ==
				    page_to_pfn(buf->pages[i]) + 1) {
			len += PAGE_SIZE;
			i++;
		}
	}
	run->addr = page_address(page) + in_page;
	run->len = min(len, max);
	return 0;
}

void coll_run_put(struct coll_run *run)
{
	if (run->page)
		unpin_user_pages_dirty_lock(&run->page, 1, run->write);
	run->page = NULL;
}

/* The buffer of the vector; if it consists of pieces, the buffer of the piece with this byte. */
static const struct coll_buf *coll_vec_buf(const struct coll_vec *v, u64 off)
{
	u64 left;

	if (!v->buf->pieces)
		return v->buf;
	return coll_piece_find(v->buf, coll_vec_addr(v, off), &off, &left)->buf;
}

int coll_vec_nid(const struct coll_vec *v, u64 off)
{
	u64 left;

	if (v->buf->pieces)
		v = coll_piece_find(v->buf, coll_vec_addr(v, off), &off, &left);
	return v->buf->pages ? page_to_nid(v->buf->pages[coll_vec_page(v, off)]) : NUMA_NO_NODE;
}

int coll_vec_bvecs(const struct coll_vec *v, u64 off, u32 len,
		   struct bio_vec *bv, unsigned int max, unsigned int *nr)
{
	bool windows = !coll_vec_buf(v, off)->pages;
	u32 done = 0;

	*nr = 0;
	while (done < len && *nr < max) {
		struct coll_run run;
		int ret;

		/* coll_bvecs_put() releases either all entries or none. */
		if (v->buf->windows && !coll_vec_buf(v, off + done)->pages != windows)
			break;
		ret = coll_vec_run(v, off + done, len - done, &run);
		if (ret) {
			coll_bvecs_put(v, off, bv, *nr);
			*nr = 0;
			return ret;
		}
		bv[*nr].bv_page = virt_to_page(run.addr);
		bv[*nr].bv_offset = offset_in_page(run.addr);
		bv[*nr].bv_len = run.len;
		(*nr)++;
		done += run.len;
	}
	return done;
}

void coll_bvecs_put(const struct coll_vec *v, u64 off, struct bio_vec *bv, unsigned int nr)
{
	unsigned int i;

	if (!nr || coll_vec_buf(v, off)->pages)
		return;
	for (i = 0; i < nr; i++)
		unpin_user_page(bv[i].bv_page);
}

bool coll_buf_may_zerocopy(const struct coll_buf *buf)
{
	if (!buf->pieces)
		return buf->pages;
	/* Many small pieces: copying takes less time. */
	return !buf->windows && buf->len >> PAGE_SHIFT >= buf->nr_pieces;
}

int coll_vec_copy(const struct coll_vec *v, u64 off, void *mem, u32 len,
		  bool to_vec)
{
	while (len) {
		struct coll_run run;
		int ret = coll_vec_run(v, off, len, &run);

		if (ret)
			return ret;
		if (to_vec)
			memcpy(run.addr, mem, run.len);
		else
			memcpy(mem, run.addr, run.len);
		off += run.len;
		mem += run.len;
		len -= run.len;
		coll_run_put(&run);
	}
	return 0;
}
