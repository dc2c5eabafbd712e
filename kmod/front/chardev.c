// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../core/group/group.h"
#include "../core/group/leave.h"
#include "../core/group/member.h"
#include "../core/group/proxy.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_results.h"
#include "calls.h"
#include "chardev.h"
#include "end.h"
#include "file.h"
#include "ioctl.h"
#include "progress.h"
#include "shm.h"
#include "uring.h"

static bool world_access;
module_param(world_access, bool, 0444);
MODULE_PARM_DESC(world_access, "create /dev/coll with mode 0666 instead of 0660");

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
	INIT_LIST_HEAD(&cf->parked);
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
	coll_uring_release(cf);
	coll_posts_release(cf);
	coll_tensors_release(cf->member);
	coll_proxy_release(cf->member);
	coll_progress_release(cf);
	coll_end_release(cf);
	coll_member_release(cf->member);
	kfree(cf);
}

static void coll_close_work(struct work_struct *work)
{
	struct coll_file *cf = container_of(work, struct coll_file, closing);
	struct coll_user *u = cf->closing_user;

	coll_close(cf);
	coll_user_put(u);
	/* Unloading waits for the user's queues, so this code stays until the work has returned. */
	module_put(THIS_MODULE);
}

/* Would the task that drops the last reference have to wait for a process that may be stopped? */
static bool coll_may_linger(struct coll_file *cf)
{
	/* A thread of the process waits for what it has posted itself. */
	if (current->tgid == cf->member->tgid)
		return !coll_progress_stop(cf);
	return coll_progress_may_linger(cf) || coll_calls_in_flight(cf) ||
	       coll_posts_in_flight(&cf->posts) || coll_tensors_open(cf->member) ||
	       coll_proxy_is_busy(cf->member);
}

/*
 * Any process may drop the last reference, or a kernel thread that others need. They must not wait
 * for the end of a command, nor for a progress thread that is stopped. The process of the thread must
 * not do that either: the debugger or freezer that has stopped the thread waits for all threads.
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
	/* From here on it does not matter how its process ends. */
	set_bit(0, &cf->member->gone);
	__module_get(THIS_MODULE);
	INIT_WORK(&cf->closing, coll_close_work);
	/*
	 * If anything lingers, there is a group. The work delays only the user of that group. Hold
	 * that user: else its release would wait for this work, and its next job for the release.
	 */
	cf->closing_user = coll_user_hold(coll_member_group(cf->member)->user);
	queue_work(cf->closing_user->reap_wq, &cf->closing);
	return 0;
}

static const struct file_operations coll_fops = {
	.owner		= THIS_MODULE,
	.open		= coll_open,
	.poll		= coll_poll,
	.mmap		= coll_mmap,
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
	if (world_access)
		coll_misc.mode = 0666;
	return misc_register(&coll_misc);
}

void coll_chardev_exit(void)
{
	misc_deregister(&coll_misc);
}
