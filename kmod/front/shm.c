// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <linux/coll.h>

#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/group/shm.h"
#include "../core/op/op.h"
#include "calls.h"
#include "end.h"
#include "file.h"
#include "setup.h"
#include "shm.h"
#include "spin.h"

int coll_ioc_shm(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_member *m = cf->member;
	struct coll_shm s, none = { };
	int ret;

	ret = copy_struct_from_user(&s, sizeof(s), arg, size);
	if (ret)
		return ret;
	if (memcmp(&s, &none, sizeof(s)))
		return -EINVAL;
	if (!m->group)
		return -ENOTCONN;
	ret = coll_shm_open(m, coll_spin_group_us(m->group), &s);
	if (ret)
		return ret;
	return copy_to_user(arg, &s, sizeof(s)) ? -EFAULT : 0;
}

/* Only the process that opened the file may use the shared memory. */
static int coll_shm_allowed(const struct coll_file *cf)
{
	if (!coll_member_is_owner(cf->member))
		return -EPERM;
	return coll_member_group(cf->member) ? 0 : -ENOTCONN;
}

int coll_ioc_shm_wait(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_call *call;
	struct coll_shm_wait w;
	int ret;

	ret = copy_struct_from_user(&w, sizeof(w), arg, size);
	if (ret)
		return ret;
	if (w.flags & ~(COLL_SHM_WAIT_LOOK | COLL_SHM_WAIT_FINISHED) || !w.pos)
		return -EINVAL;
	ret = coll_shm_allowed(cf);
	if (ret)
		return ret;
	/* So the caller's reference to the file counts: another thread may close the file. */
	call = coll_call_begin(cf);
	if (!call)
		return -ENOMEM;
	ret = coll_shm_wait(cf->member, &w);
	if (ret == -ETIME && !(w.flags & COLL_SHM_WAIT_LOOK)) {
		/* The op fails now, with a cause that names what it waited for. */
		coll_op_expire(cf->member, w.pos);
		w.timeout_ns = 0;
		ret = coll_shm_wait(cf->member, &w);
	}
	coll_call_end(call);
	if (ret == -EINTR && fatal_signal_pending(current))
		coll_end_killed(cf);
	return ret;
}

int coll_ioc_shm_wake(struct coll_file *cf, void __user *arg, u32 size)
{
	int ret = coll_shm_allowed(cf);

	return ret ?: coll_shm_wake(cf->member);
}

int coll_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct coll_file *cf = file->private_data;
	int ret = coll_setup_allowed(cf);

	return ret ?: coll_shm_map(cf->member, vma);
}
