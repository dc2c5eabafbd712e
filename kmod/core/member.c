// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "group.h"
#include "limits.h"
#include "member.h"

#ifdef CONFIG_MMU_NOTIFIER
/*
 * Called at the very start of exit_mmap(): a large process is seen dead before
 * its memory is torn down, and also when a descriptor leaked to a child.
 */
static void coll_mn_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	coll_member_gone(container_of(mn, struct coll_member, mn),
			 COLL_CAUSE_EXIT);
}

static const struct mmu_notifier_ops coll_mn_ops = {
	.release = coll_mn_release,
};

static int coll_watch_mm(struct coll_member *m)
{
	int ret;

	m->mn.ops = &coll_mn_ops;
	ret = mmu_notifier_register(&m->mn, m->ml.mm);
	m->has_mn = !ret;
	/* io_uring's task work is a signal to it: come back after that. */
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
}

static void coll_unwatch_mm(struct coll_member *m)
{
	if (m->has_mn)
		mmu_notifier_unregister(&m->mn, m->ml.mm);
}
#else
static int coll_watch_mm(struct coll_member *m)
{
	return 0;
}

static void coll_unwatch_mm(struct coll_member *m)
{
}
#endif

struct coll_member *coll_member_open(void)
{
	struct coll_member *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!m)
		return ERR_PTR(-ENOMEM);
	if (!current->mm) {
		kfree(m);
		return ERR_PTR(-EINVAL);
	}
	m->ml.cred = get_current_cred();
	m->ml.mm = current->mm;
	mmgrab(m->ml.mm);
	m->ml.unlimited = capable(CAP_IPC_LOCK);
	m->tgid = current->tgid;
	mutex_init(&m->setup);
	coll_pins_init(&m->pins);
	coll_slots_init(&m->slots);
	xa_init_flags(&m->bufs, XA_FLAGS_ALLOC1);

	ret = coll_watch_mm(m);
	if (ret) {
		mmdrop(m->ml.mm);
		put_cred(m->ml.cred);
		kfree(m);
		return ERR_PTR(ret);
	}
	return m;
}

void coll_member_release(struct coll_member *m)
{
	struct coll_buf *buf;
	unsigned long id;

	/* May report the end of the process once more: the group is there. */
	coll_unwatch_mm(m);
	if (m->group)
		coll_group_leave(m);
	coll_pins_release(&m->pins);
	coll_slots_release(&m->slots);
	xa_for_each(&m->bufs, id, buf)
		coll_buf_put(buf);
	xa_destroy(&m->bufs);
	mmdrop(m->ml.mm);
	put_cred(m->ml.cred);
	kfree(m);
}

bool coll_member_is_owner(const struct coll_member *m)
{
	return current->mm == m->ml.mm;
}

/* How the current process ends: wait status as the shell would say. */
static void coll_exit_status(struct coll_cause *cause)
{
	int code = 0;

	/*
	 * group_exit_code alone may also be the signal that stops a job. Threads that
	 * the kernel has put into the process end with 0 whatever becomes of it.
	 */
	if (READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT)
		code = READ_ONCE(current->signal->group_exit_code);
	else if (current->flags & PF_EXITING)
		code = READ_ONCE(current->group_leader->exit_code);

	cause->signal = code & 0x7f;
	cause->code = (code >> 8) & 0xff;
}

void coll_member_gone(struct coll_member *m, u32 kind)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_cause cause;
	bool pending;

	if (!g || test_bit(0, &m->gone))
		return;
	spin_lock(&g->lock);
	pending = coll_member_inflight(m);
	coll_group_cause(g, &cause, kind, EHOSTDOWN, m->rank,
			 m->posted != m->completed ? m->completed + 1 : m->posted);
	spin_unlock(&g->lock);
	cause.pid = m->tgid;
	if (current->tgid == m->tgid &&
	    (kind == COLL_CAUSE_EXIT || fatal_signal_pending(current)))
		coll_exit_status(&cause);

	/* An orderly end after the last op is news for later ops only. */
	if (!pending && !cause.signal && !cause.code) {
		if (kind == COLL_CAUSE_EXIT)
			coll_group_left(m);
		return;
	}
	if (test_and_set_bit(0, &m->gone))
		return;
	coll_group_fail(g, &cause);
}

int coll_member_register(struct coll_member *m, struct coll_register *r)
{
	struct coll_buf *buf;
	u32 id;
	int ret;

	if (r->flags & ~COLL_REG_WRITE)
		return -EINVAL;
	buf = coll_pins_pin(m, r->addr, r->len, r->flags & COLL_REG_WRITE);
	if (IS_ERR(buf))
		return buf == ERR_PTR(-EDQUOT) ? -ENOMEM : PTR_ERR(buf);
	ret = xa_alloc(&m->bufs, &id, buf, XA_LIMIT(1, COLL_MAX_BUFFERS),
		       GFP_KERNEL_ACCOUNT);
	if (ret) {
		coll_buf_put(buf);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	m->pinned += buf->nr_pages * PAGE_SIZE;
	r->id = id;
	return 0;
}

int coll_member_unregister(struct coll_member *m, u32 id)
{
	struct coll_buf *buf;

	if (!id || id > COLL_MAX_BUFFERS)
		return -ENOENT;
	id = array_index_nospec(id, COLL_MAX_BUFFERS + 1);
	buf = xa_erase(&m->bufs, id);
	if (!buf)
		return -ENOENT;
	m->pinned -= buf->nr_pages * PAGE_SIZE;
	coll_buf_put(buf);
	return 0;
}

int coll_member_vec(struct coll_member *m, u32 id, u64 addr, u64 len,
		    bool write, struct coll_vec *v)
{
	struct coll_buf *buf;

	if (!id || id > COLL_MAX_BUFFERS)
		return -ENOENT;
	id = array_index_nospec(id, COLL_MAX_BUFFERS + 1);
	xa_lock(&m->bufs);
	buf = xa_load(&m->bufs, id);
	if (buf)
		coll_buf_get(buf);
	xa_unlock(&m->bufs);
	if (!buf)
		return -ENOENT;
	if (addr < buf->addr || len > buf->len ||
	    addr - buf->addr > buf->len - len || (write && !buf->write)) {
		coll_buf_put(buf);
		return -EFAULT;
	}
	v->buf = buf;
	v->start = addr - buf->addr;
	return 0;
}
