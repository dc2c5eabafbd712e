// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/lockdep.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../limits.h"
#include "../mem/area.h"
#include "failure.h"
#include "group.h"
#include "leave.h"
#include "member.h"

struct coll_member *coll_member_open(void)
{
	struct coll_member *m;

	if (!current->mm)
		return ERR_PTR(-EINVAL);
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->ml.cred = get_current_cred();
	m->ml.mm = current->mm;
	mmgrab(m->ml.mm);
	m->ml.unlimited = capable(CAP_IPC_LOCK);
	m->owner = get_task_struct(current->group_leader);
	m->tgid = current->tgid;
	mutex_init(&m->setup);
	coll_pins_init(&m->pins);
	coll_slots_init(&m->slots);
	INIT_LIST_HEAD(&m->tensors.done);
	init_waitqueue_head(&m->tensors.wq);
	init_waitqueue_head(&m->tensors.awaits);
	xa_init_flags(&m->bufs, XA_FLAGS_ALLOC1);
	return m;
}

void coll_member_unregister_all(struct coll_member *m)
{
	struct coll_buf *buf;
	unsigned long id;

	WRITE_ONCE(m->pinned, 0);
	xa_for_each(&m->bufs, id, buf) {
		buf = xa_erase(&m->bufs, id);
		if (buf)
			coll_buf_put(buf);
		cond_resched();
	}
}

void coll_member_release(struct coll_member *m)
{
	if (m->group)
		coll_group_leave(m);
	WARN_ON_ONCE(atomic64_read(&m->in_flight));
	coll_pins_release(&m->pins);
	coll_slots_release(&m->slots);
	coll_member_unregister_all(m);
	xa_destroy(&m->bufs);
	mmdrop(m->ml.mm);
	put_cred(m->ml.cred);
	put_task_struct(m->owner);
	kfree(m);
}

bool coll_member_is_owner(const struct coll_member *m)
{
	return current->mm == m->ml.mm;
}

bool coll_member_is_mine(const struct coll_member *m)
{
	return current->tgid == m->tgid;
}

/*
 * How the process of a member ends: signal and exit code, as a shell reports them. It does not
 * matter which thread calls this.
 */
static void coll_exit_status(const struct coll_member *m, u32 kind, struct coll_cause *cause)
{
	const struct signal_struct *sig = m->owner->signal;
	int code = 0;

	/* Without SIGNAL_GROUP_EXIT group_exit_code may be a signal that stopped the process. */
	if (READ_ONCE(sig->flags) & SIGNAL_GROUP_EXIT)
		code = READ_ONCE(sig->group_exit_code);
	else if (kind == COLL_CAUSE_EXIT && READ_ONCE(m->owner->flags) & PF_EXITING)
		code = READ_ONCE(m->owner->exit_code);

	cause->signal = code & 0x7f;
	cause->code = (code >> 8) & 0xff;
}

/* Does @m have commands in flight, or threads that wait for ops in shared memory? */
static bool coll_member_is_in_op_locked(const struct coll_member *m, const struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	return coll_member_inflight(m) || m->shm_sleepers;
}

bool coll_member_busy(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	bool busy;

	if (!g)
		return false;
	spin_lock(&g->lock);
	busy = coll_member_is_in_op_locked(m, g);
	spin_unlock(&g->lock);
	return busy;
}

/* Fill in the cause of the end of a member. Return: whether it fails the group. */
static bool coll_member_end_cause_locked(const struct coll_member *m, struct coll_group *g, u32 kind,
					 struct coll_cause *cause)
{
	lockdep_assert_held(&g->lock);
	coll_group_cause(g, cause, kind, EHOSTDOWN, m->rank,
			 m->posted != m->completed ? m->completed + 1 : m->posted);
	cause->pid = m->tgid;
	coll_exit_status(m, kind, cause);
	/* A rank that has left may have executed another program, whose end is ignored. */
	return coll_member_is_in_op_locked(m, g) || (!m->left && (cause->signal || cause->code));
}

/* What the end of a member does to its group. */
enum coll_member_end {
	COLL_END_IN_ORDER,	/* only later ops fail */
	COLL_END_FAILS,		/* the caller owes coll_group_failed() */
	COLL_END_KNOWN,		/* the group has failed */
};

/* A member has ended: store the failure, if it is one. */
static enum coll_member_end coll_member_ended(struct coll_member *m, struct coll_group *g, u32 kind)
{
	enum coll_member_end end = COLL_END_IN_ORDER;
	struct coll_cause cause;

	/* In one critical section: no command may end before the error is stored. */
	spin_lock(&g->lock);
	if (coll_member_end_cause_locked(m, g, kind, &cause))
		end = !test_and_set_bit(0, &m->gone) && coll_group_fail_locked(g, &cause) ?
		      COLL_END_FAILS : COLL_END_KNOWN;
	spin_unlock(&g->lock);
	return end;
}

/* Is the calling thread being killed, and its process a rank of the group? Fill in the cause. */
static bool coll_group_caller_dies(struct coll_group *g, struct coll_cause *cause)
{
	struct coll_member *m;
	bool fails = false;
	u32 i;

	if (!fatal_signal_pending(current))
		return false;
	spin_lock(&g->lock);
	for (i = 0; i < g->nr_local && !fails; i++) {
		m = g->members[i];
		/* Another thread may have found this out, and not have failed the group yet. */
		if (!m || !coll_member_is_mine(m))
			continue;
		fails = coll_member_end_cause_locked(m, g, COLL_CAUSE_EXIT, cause);
		if (fails)
			set_bit(0, &m->gone);
	}
	spin_unlock(&g->lock);
	return fails;
}

void coll_group_no_memory(struct coll_group *g, int err, u64 seq)
{
	struct coll_cause cause;

	if (!coll_group_caller_dies(g, &cause)) {
		coll_group_cause(g, &cause, COLL_CAUSE_MEMORY, -err, COLL_RANK_NONE, seq);
		cause.node = g->node;
	}
	coll_group_fail(g, &cause);
}

void coll_member_gone(struct coll_member *m, u32 kind)
{
	struct coll_group *g = coll_member_group(m);
	enum coll_member_end end;

	if (!g || test_bit(0, &m->gone))
		return;
	end = coll_member_ended(m, g, kind);
	if (end == COLL_END_FAILS)
		coll_group_failed(g);
	else if (end == COLL_END_IN_ORDER && kind == COLL_CAUSE_EXIT)
		coll_group_left(m);
}

bool coll_member_gone_soon(struct coll_member *m, u32 kind)
{
	struct coll_group *g = coll_member_group(m);
	enum coll_member_end end;

	if (!g || test_bit(0, &m->gone))
		return false;
	end = coll_member_ended(m, g, kind);
	if (end == COLL_END_FAILS)
		coll_group_failed_soon(g);
	return end == COLL_END_IN_ORDER && kind == COLL_CAUSE_EXIT;
}

void coll_member_left(struct coll_member *m)
{
	if (!test_bit(0, &m->gone))
		coll_group_left(m);
}

int coll_member_register(struct coll_member *m, struct coll_register *r)
{
	const struct coll_area area = coll_area_range(r->addr, r->len);
	struct coll_buf *buf;
	u32 id;
	int ret;

	if (r->flags & ~COLL_REG_WRITE)
		return -EINVAL;
	buf = coll_pins_pin(&m->ml, &area, r->flags & COLL_REG_WRITE);
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
