// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../compat.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/op/status.h"
#include "../core/p2p/cancel.h"
#include "../core/plan/select.h"
#include "../core/plan/stripe.h"
#include "../core/plan/support.h"
#include "../core/tensor/tensor_fuse.h"
#include "calls.h"
#include "chardev.h"
#include "decode.h"
#include "end.h"
#include "file.h"
#include "progress.h"
#include "refs.h"
#include "submit.h"
#include "tensor.h"
#include "uring.h"

/* For files whose progress threads, or commands, may not end soon. */
static struct workqueue_struct *coll_close_wq;

static bool world_access;
module_param(world_access, bool, 0444);
MODULE_PARM_DESC(world_access, "create /dev/coll with mode 0666 instead of 0660");

/* The ABI: sizes are for ever. Changing one is adding a version, not an edit. */
static inline void coll_check_abi(void)
{
	BUILD_BUG_ON(sizeof(struct coll_version) != 96);
	BUILD_BUG_ON(sizeof(struct coll_join) != 64);
	BUILD_BUG_ON(sizeof(struct coll_link_add) != 32);
	BUILD_BUG_ON(sizeof(struct coll_register) != 40);
	BUILD_BUG_ON(sizeof(struct coll_unregister) != 16);
	BUILD_BUG_ON(sizeof(struct coll_abort) != 16);
	BUILD_BUG_ON(sizeof(struct coll_shrink) != 64);
	BUILD_BUG_ON(sizeof(struct coll_cause) != 72);
	BUILD_BUG_ON(sizeof(struct coll_status) != 176);
	BUILD_BUG_ON(sizeof(struct coll_select_row) != 16);
	BUILD_BUG_ON(sizeof(struct coll_select) != 40);
	BUILD_BUG_ON(sizeof(struct coll_stripe) != 32);
	BUILD_BUG_ON(sizeof(struct coll_cmd) != 136);
	BUILD_BUG_ON(sizeof(struct coll_message) != 32);
	BUILD_BUG_ON(sizeof(struct coll_cancel) != 32);
	BUILD_BUG_ON(sizeof(struct coll_sqe) != 16);
	BUILD_BUG_ON(sizeof(struct coll_post_entry) != 24);
	BUILD_BUG_ON(sizeof(struct coll_post) != 32);
	BUILD_BUG_ON(sizeof(struct coll_completion) != 16);
	BUILD_BUG_ON(sizeof(struct coll_collect) != 32);
	BUILD_BUG_ON(sizeof(struct coll_tensor) != 120);
	BUILD_BUG_ON(sizeof(struct coll_tensor_post) != 40);
	BUILD_BUG_ON(sizeof(struct coll_tensor_result) != 48);
	BUILD_BUG_ON(sizeof(struct coll_tensor_wait) != 48);
	BUILD_BUG_ON(sizeof(struct coll_tensor_fuse) != 32);
	BUILD_BUG_ON(offsetof(struct coll_status, cause) != 104);
	BUILD_BUG_ON(offsetof(struct coll_cmd, timeout_ns) != 40);
	BUILD_BUG_ON(offsetof(struct coll_cmd, message_addr) != 112);
}

/* Setup verbs act with the rights of the opener, so they must come from it. */
static int coll_check_setup(struct file *file, const struct coll_member *m)
{
	if (file->f_cred != current_cred() && !uid_eq(file->f_cred->euid, current_euid()))
		return -EPERM;
	return coll_member_is_owner(m) ? 0 : -EPERM;
}

/* A caller with a larger struct than ours reads zeroes behind it. */
static int coll_copy_out(void __user *arg, u32 size, const void *s, size_t ours)
{
	if (copy_to_user(arg, s, min_t(size_t, size, ours)))
		return -EFAULT;
	if (size > ours && clear_user(arg + ours, size - ours))
		return -EFAULT;
	return 0;
}

static int coll_ioc_version(void __user *arg, u32 size)
{
	struct coll_version v = { };

	coll_describe(&v);
	v.features = COLL_FEAT_IOCTL | COLL_FEAT_URING | COLL_FEAT_REGISTER |
		     COLL_FEAT_LINKS | COLL_FEAT_NETLINK | COLL_FEAT_SELECT |
		     COLL_FEAT_SHARE | COLL_FEAT_SPIN | COLL_FEAT_STRIPE | COLL_FEAT_NARROW |
		     COLL_FEAT_CANCEL | COLL_FEAT_PROBE | COLL_FEAT_POST | COLL_FEAT_TENSORS |
		     COLL_FEAT_TENSOR_JOIN | COLL_FEAT_TENSOR_GROUPS | COLL_FEAT_TENSORS_URING |
		     COLL_FEAT_TENSOR_FUSE;
	if (IS_ENABLED(CONFIG_IO_URING))
		v.features |= COLL_FEAT_URING_FIXED;
	if (COLL_HAS_USER_THREADS)
		v.features |= COLL_FEAT_PROGRESS;
	if (COLL_URING_CAN_CANCEL)
		v.features |= COLL_FEAT_URING_CANCEL;
	if (IS_ENABLED(CONFIG_MMU_NOTIFIER))
		v.features |= COLL_FEAT_DEATH_NOTICE;
	return coll_copy_out(arg, size, &v, sizeof(v));
}

static int coll_ioc_join(struct coll_member *m, void __user *arg, u32 size)
{
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
	ret = coll_group_join(m, &a);
free:
	kvfree(a.node_of);
	memzero_explicit(&a, sizeof(a));
	return ret;
}

static const struct file_operations coll_fops;

/* The parent's file is held meanwhile, as a command in flight holds its own. */
static int coll_link_shared(struct coll_member *m, const struct coll_link_add *l)
{
	struct file *file = fget(l->fd);
	struct coll_group *parent;
	struct coll_file *cf;
	int ret;

	if (!file)
		return -EBADF;
	ret = -EINVAL;
	if (file->f_op != &coll_fops)
		goto put;
	cf = file->private_data;
	ret = coll_check_setup(file, cf->member);
	if (ret)
		goto put;
	coll_end_hold(cf);
	parent = coll_member_group(cf->member);
	ret = parent ? coll_link_share(m->group, parent, l) : -ENOTCONN;
	coll_end_drop(cf);
put:
	fput(file);
	return ret;
}

static int coll_ioc_link(struct coll_member *m, void __user *arg, u32 size)
{
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
		return coll_link_shared(m, &l);
	return coll_link_add(m->group, &l);
}

static int coll_ioc_register(struct coll_member *m, void __user *arg, u32 size)
{
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

static int coll_ioc_unregister(struct coll_member *m, void __user *arg, u32 size)
{
	struct coll_unregister u;
	int ret;

	ret = copy_struct_from_user(&u, sizeof(u), arg, size);
	if (ret)
		return ret;
	if (memchr_inv(u.reserved, 0, sizeof(u.reserved)))
		return -EINVAL;
	return coll_member_unregister(m, u.id);
}

static int coll_ioc_abort(struct coll_member *m, void __user *arg, u32 size)
{
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

static int coll_ioc_select(struct coll_member *m, void __user *arg, u32 size)
{
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

static int coll_ioc_stripe(struct coll_member *m, void __user *arg, u32 size)
{
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

static int coll_ioc_tensor_fuse(struct coll_member *m, void __user *arg, u32 size)
{
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

static int coll_ioc_cancel(struct coll_member *m, void __user *arg, u32 size)
{
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

static int coll_ioc_post(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_post p;
	int ret;

	ret = copy_struct_from_user(&p, sizeof(p), arg, size);
	return ret ?: coll_post(cf, &p);
}

static int coll_ioc_collect(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_collect __user *to = arg;
	struct coll_collect c;
	int ret;

	ret = copy_struct_from_user(&c, sizeof(c), arg, size);
	ret = ret ?: coll_collect(cf, &c);
	/* The call begins again after the signal: with what is left of its time. */
	if (ret == -ERESTARTSYS && put_user(c.timeout_ns, &to->timeout_ns))
		return -EFAULT;
	return ret;
}

static int coll_ioc_status(struct coll_member *m, void __user *arg, u32 size)
{
	struct coll_status s;

	coll_member_status(m, &s);
	return coll_copy_out(arg, size, &s, sizeof(s));
}

/* Setup verbs, one at a time per file. */
static int coll_ioctl_setup(struct file *file, struct coll_member *m,
			    unsigned int nr, void __user *arg, u32 size)
{
	int ret = coll_check_setup(file, m);

	if (ret)
		return ret;
	/* Nothing has been done yet: come back after the signal. */
	if (mutex_lock_interruptible(&m->setup))
		return -ERESTARTNOINTR;
	switch (nr) {
	case _IOC_NR(COLL_IOC_JOIN):
		ret = coll_ioc_join(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_LINK):
		ret = coll_ioc_link(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_REGISTER):
		ret = coll_ioc_register(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_UNREGISTER):
		ret = coll_ioc_unregister(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_ABORT):
		ret = coll_ioc_abort(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_SHRINK):
		ret = -EOPNOTSUPP;
		break;
	case _IOC_NR(COLL_IOC_SELECT):
		ret = coll_ioc_select(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_STRIPE):
		ret = coll_ioc_stripe(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_CANCEL):
		ret = coll_ioc_cancel(m, arg, size);
		break;
	case _IOC_NR(COLL_IOC_TENSOR_FUSE):
		ret = coll_ioc_tensor_fuse(m, arg, size);
		break;
	default:
		ret = -ENOTTY;
	}
	mutex_unlock(&m->setup);
	return ret;
}

/* The direction a verb was published with, and its size; the size may have grown since. */
static int coll_ioctl_check(unsigned int cmd)
{
	static const unsigned int known[] = {
		COLL_IOC_VERSION, COLL_IOC_JOIN, COLL_IOC_LINK,
		COLL_IOC_REGISTER, COLL_IOC_UNREGISTER, COLL_IOC_ABORT,
		COLL_IOC_SHRINK, COLL_IOC_STATUS, COLL_IOC_SELECT,
		COLL_IOC_STRIPE, COLL_IOC_CANCEL, COLL_IOC_POST, COLL_IOC_COLLECT,
		COLL_IOC_TENSOR_POST, COLL_IOC_TENSOR_WAIT, COLL_IOC_TENSOR_FUSE,
		_IOC(_IOC_WRITE, COLL_IOC_MAGIC, _IOC_NR(COLL_IOC_SUBMIT), COLL_CMD_SIZE_V0),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (_IOC_TYPE(cmd) == _IOC_TYPE(known[i]) &&
		    _IOC_NR(cmd) == _IOC_NR(known[i]) &&
		    _IOC_DIR(cmd) == _IOC_DIR(known[i]))
			return _IOC_SIZE(cmd) < _IOC_SIZE(known[i]) ? -EINVAL : 0;
	return -ENOTTY;
}

static long coll_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct coll_file *cf = file->private_data;
	void __user *p = (void __user *)arg;
	u32 size = _IOC_SIZE(cmd);
	int ret;

	ret = coll_ioctl_check(cmd);
	if (ret)
		return ret;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(COLL_IOC_SUBMIT):
		return coll_submit_wait(cf, arg, size);
	case _IOC_NR(COLL_IOC_POST):
		return coll_ioc_post(cf, p, size);
	case _IOC_NR(COLL_IOC_COLLECT):
		return coll_ioc_collect(cf, p, size);
	case _IOC_NR(COLL_IOC_TENSOR_POST):
		return coll_ioc_tensor_post(cf, p, size);
	case _IOC_NR(COLL_IOC_TENSOR_WAIT):
		return coll_ioc_tensor_wait(cf, p, size);
	case _IOC_NR(COLL_IOC_VERSION):
		return coll_ioc_version(p, size);
	case _IOC_NR(COLL_IOC_STATUS):
		return coll_ioc_status(cf->member, p, size);
	default:
		return coll_ioctl_setup(file, cf->member, _IOC_NR(cmd), p, size);
	}
}

static int coll_open(struct inode *inode, struct file *file)
{
	struct coll_file *cf = kzalloc(sizeof(*cf), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!cf)
		return -ENOMEM;
	cf->member = coll_member_open();
	if (IS_ERR(cf->member)) {
		ret = PTR_ERR(cf->member);
		goto free;
	}
	mutex_init(&cf->starting);
	spin_lock_init(&cf->lock);
	INIT_LIST_HEAD(&cf->calls);
	coll_posts_init(&cf->posts);
	ret = coll_end_open(cf, file);
	if (ret)
		goto release;
	file->private_data = cf;
	return nonseekable_open(inode, file);
release:
	coll_member_release(cf->member);
free:
	kfree(cf);
	return ret;
}

static __poll_t coll_poll(struct file *file, poll_table *wait)
{
	struct coll_file *cf = file->private_data;

	return coll_posts_poll(&cf->posts, file, wait);
}

static int coll_flush(struct file *file, fl_owner_t id)
{
	coll_end_flush(file->private_data, id);
	return 0;
}

static void coll_close(struct coll_file *cf)
{
	coll_calls_release(cf);
	coll_posts_release(cf);
	coll_tensors_release(cf->member);
	coll_progress_release(cf);
	coll_end_release(cf);
	coll_member_release(cf->member);
	kfree(cf);
}

static void coll_close_work(struct work_struct *work)
{
	coll_close(container_of(work, struct coll_file, closing));
	/* Unloading waits for this work, so its text is there until it returns. */
	module_put(THIS_MODULE);
}

/* Would who drops the last reference have to wait for something of another process? */
static bool coll_may_linger(struct coll_file *cf)
{
	return current->tgid != cf->member->tgid &&
	       (coll_progress_may_linger(cf) || coll_calls_in_flight(cf) ||
		coll_posts_in_flight(&cf->posts) || coll_tensors_open(cf->member));
}

/*
 * The last reference may be dropped by any process, or by a kernel thread that others need:
 * they do not wait for a progress thread whose process is stopped, nor for the end of a
 * command.
 */
static int coll_release(struct inode *inode, struct file *file)
{
	struct coll_file *cf = file->private_data;

	coll_end_released(cf);
	if (!coll_may_linger(cf)) {
		coll_close(cf);
		return 0;
	}
	coll_group_left(cf->member);
	/* However its process ends meanwhile. */
	set_bit(0, &cf->member->gone);
	__module_get(THIS_MODULE);
	INIT_WORK(&cf->closing, coll_close_work);
	queue_work(coll_close_wq, &cf->closing);
	return 0;
}

static const struct file_operations coll_fops = {
	.owner		= THIS_MODULE,
	.open		= coll_open,
	.poll		= coll_poll,
	.flush		= coll_flush,
	.release	= coll_release,
	.unlocked_ioctl	= coll_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.uring_cmd	= coll_uring_cmd,
};

static struct miscdevice coll_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "coll",
	.fops	= &coll_fops,
	.mode	= 0660,
};

int coll_chardev_init(void)
{
	int ret;

	coll_check_abi();
	coll_close_wq = alloc_workqueue("coll_close", WQ_UNBOUND, 0);
	if (!coll_close_wq)
		return -ENOMEM;
	if (world_access)
		coll_misc.mode = 0666;
	ret = misc_register(&coll_misc);
	if (ret)
		destroy_workqueue(coll_close_wq);
	return ret;
}

void coll_chardev_exit(void)
{
	misc_deregister(&coll_misc);
	destroy_workqueue(coll_close_wq);
}
