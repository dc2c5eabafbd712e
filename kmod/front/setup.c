// SPDX-License-Identifier: GPL-2.0
/* Setup verbs: each takes a struct from the user, checks it, and calls core. */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <linux/coll.h>

#include "../core/group/failure.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/p2p/cancel.h"
#include "../core/plan/select.h"
#include "../core/plan/stripe.h"
#include "../core/tensor/tensor_fuse.h"
#include "file.h"
#include "refs.h"
#include "setup.h"

int coll_setup_allowed(struct coll_file *cf)
{
	const struct cred *cred = cf->file->f_cred;

	if (cred != current_cred() && !uid_eq(cred->euid, current_euid()))
		return -EPERM;
	return coll_member_is_owner(cf->member) ? 0 : -EPERM;
}

int coll_ioc_join(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_join_args a = { };
	struct coll_join *j = &a.join;
	int ret;

	ret = copy_struct_from_user(j, sizeof(*j), arg, size);
	if (ret)
		return ret;
	if (j->flags & ~(COLL_JOIN_EXISTING | COLL_JOIN_NAMED) ||
	    memchr_inv(j->reserved, 0, sizeof(j->reserved)) ||
	    !j->size || j->size > COLL_MAX_SIZE)
		return -EINVAL;
	if (m->group)
		return -EEXIST;
	a.node_of = kvmalloc_array(j->size, sizeof(u32), GFP_KERNEL_ACCOUNT);
	if (!a.node_of)
		return -ENOMEM;
	if (copy_from_user(a.node_of, (void __user *)(unsigned long)j->node_of,
			   array_size(j->size, sizeof(u32)))) {
		ret = -EFAULT;
		goto free;
	}
	a.uid = m->ml.cred->euid;
	a.payer = coll_user_payer(m->ml.cred);
	ret = coll_group_join(m, &a);
free:
	kvfree(a.node_of);
	memzero_explicit(&a, sizeof(a));
	return ret;
}

/* Hold the parent's file meanwhile, as a command in flight holds its file. */
static int coll_link_shared(struct coll_file *ours, const struct coll_link_add *l)
{
	struct file *file = fget(l->fd);
	struct coll_group *parent;
	struct coll_file *cf;
	int ret;

	if (!file)
		return -EBADF;
	ret = -EINVAL;
	if (file->f_op != ours->file->f_op)
		goto put;
	cf = file->private_data;
	ret = coll_setup_allowed(cf);
	if (ret)
		goto put;
	coll_end_hold(cf);
	parent = coll_member_group(cf->member);
	ret = parent ? coll_link_share(ours->member->group, parent, l) : -ENOTCONN;
	coll_end_drop(cf);
put:
	fput(file);
	return ret;
}

int coll_ioc_link(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_link_add l;
	int ret;

	ret = copy_struct_from_user(&l, sizeof(l), arg, size);
	if (ret)
		return ret;
	if (memchr_inv(l.reserved, 0, sizeof(l.reserved)))
		return -EINVAL;
	if (!m->group)
		return -ENOTCONN;
	if (l.flags & COLL_LINK_SHARE)
		return coll_link_shared(cf, &l);
	return coll_link_add(m->group, &l);
}

int coll_ioc_register(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_register r;
	int ret;

	ret = copy_struct_from_user(&r, sizeof(r), arg, size);
	if (ret)
		return ret;
	if (r.id || memchr_inv(r.reserved, 0, sizeof(r.reserved)))
		return -EINVAL;
	ret = coll_member_register(m, &r);
	if (ret)
		return ret;
	if (put_user(r.id, &((struct coll_register __user *)arg)->id)) {
		coll_member_unregister(m, r.id);
		return -EFAULT;
	}
	return 0;
}

int coll_ioc_unregister(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_unregister u;
	int ret;

	ret = copy_struct_from_user(&u, sizeof(u), arg, size);
	if (ret)
		return ret;
	if (memchr_inv(u.reserved, 0, sizeof(u.reserved)))
		return -EINVAL;
	return coll_member_unregister(m, u.id);
}

int coll_ioc_abort(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_group *g = m->group;
	struct coll_cause cause;
	struct coll_abort a;
	int ret;

	ret = copy_struct_from_user(&a, sizeof(a), arg, size);
	if (ret)
		return ret;
	if (memchr_inv(a.reserved, 0, sizeof(a.reserved)))
		return -EINVAL;
	if (!g)
		return -ENOTCONN;
	coll_group_cause(g, &cause, COLL_CAUSE_ABORT, ESHUTDOWN, m->rank,
			 m->posted);
	cause.pid = m->tgid;
	cause.code = a.code;
	coll_group_fail(g, &cause);
	return 0;
}

int coll_ioc_select(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_select s;
	struct coll_table *t;
	int ret;

	ret = copy_struct_from_user(&s, sizeof(s), arg, size);
	if (ret)
		return ret;
	if (s.flags >= COLL_NR_SELECT_SOURCES || s.nr > COLL_SELECT_ROWS ||
	    memchr_inv(s.reserved, 0, sizeof(s.reserved)))
		return -EINVAL;
	if (!m->group)
		return -ENOTCONN;
	t = kzalloc(struct_size(t, rows, s.nr), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->nr = s.nr;
	t->source = s.flags;
	if (copy_from_user(t->rows, u64_to_user_ptr(s.rows),
			   array_size(s.nr, sizeof(*t->rows)))) {
		kfree(t);
		return -EFAULT;
	}
	return coll_group_select(m->group, s.collective, t);
}

int coll_ioc_stripe(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_stripe s;
	int ret;

	ret = copy_struct_from_user(&s, sizeof(s), arg, size);
	if (ret)
		return ret;
	if (s.flags || memchr_inv(s.reserved, 0, sizeof(s.reserved)))
		return -EINVAL;
	if (!m->group)
		return -ENOTCONN;
	return coll_group_stripe(m->group, s.links, s.least);
}

int coll_ioc_tensor_fuse(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_tensor_fuse f;
	int ret;

	ret = copy_struct_from_user(&f, sizeof(f), arg, size);
	if (ret)
		return ret;
	if (f.flags || f.reserved)
		return -EINVAL;
	if (!m->group)
		return -ENOTCONN;
	if (!m->group->tensors)
		return -EOPNOTSUPP;
	coll_tensors_set_fusion(m->group, f.threshold, f.most, f.ahead);
	return 0;
}

int coll_ioc_cancel(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_cancel __user *to = arg;
	struct coll_cancel c;
	int ret;

	ret = copy_struct_from_user(&c, sizeof(c), arg, size);
	if (ret)
		return ret;
	if (c.flags & ~COLL_CANCEL_RECEIVES || c.reserved || c.cancelled || c.reserved2 ||
	    !c.handle == !c.flags)
		return -EINVAL;
	if (!m->group)
		return -ENOTCONN;
	if (c.handle)
		return coll_msg_cancel(m, c.handle);
	c.cancelled = coll_msg_cancel_receives(m);
	return put_user(c.cancelled, &to->cancelled);
}
