// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/nospec.h>

#include <linux/coll.h>

#include "../core/group/member.h"
#include "decode.h"
#include "file.h"
#include "ioctl.h"
#include "post.h"
#include "setup.h"
#include "shm.h"
#include "submit.h"
#include "tensor_post.h"
#include "tensor_wait.h"
#include "version.h"

/* A setup verb: the opener calls it, and one at a time per file */
#define COLL_VERB_SETUP		BIT(0)

/**
 * struct coll_verb - an ioctl
 * @cmd: its number, with the direction and the size that it was first published with
 * @flags: COLL_VERB_*
 * @fn: its function; size: of the struct at arg, at least the size in @cmd
 */
struct coll_verb {
	unsigned int cmd;
	unsigned int flags;
	int (*fn)(struct coll_file *cf, void __user *arg, u32 size);
};

#define COLL_VERB(_cmd, _flags, _fn)	\
	[_IOC_NR(_cmd)] = { .cmd = (_cmd), .flags = (_flags), .fn = (_fn) }

/* COLL_IOC_SUBMIT as it was first published: struct coll_cmd has grown since. */
#define COLL_SUBMIT_V0	\
	_IOC(_IOC_WRITE, COLL_IOC_MAGIC, _IOC_NR(COLL_IOC_SUBMIT), COLL_CMD_SIZE_V0)

static const struct coll_verb coll_verbs[] = {
	COLL_VERB(COLL_IOC_VERSION, 0, coll_ioc_version),
	COLL_VERB(COLL_IOC_JOIN, COLL_VERB_SETUP, coll_ioc_join),
	COLL_VERB(COLL_IOC_LINK, COLL_VERB_SETUP, coll_ioc_link),
	COLL_VERB(COLL_IOC_REGISTER, COLL_VERB_SETUP, coll_ioc_register),
	COLL_VERB(COLL_IOC_UNREGISTER, COLL_VERB_SETUP, coll_ioc_unregister),
	COLL_VERB(COLL_IOC_ABORT, COLL_VERB_SETUP, coll_ioc_abort),
	COLL_VERB(COLL_IOC_STATUS, 0, coll_ioc_status),
	COLL_VERB(COLL_IOC_SELECT, COLL_VERB_SETUP, coll_ioc_select),
	COLL_VERB(COLL_IOC_STRIPE, COLL_VERB_SETUP, coll_ioc_stripe),
	COLL_VERB(COLL_IOC_CANCEL, COLL_VERB_SETUP, coll_ioc_cancel),
	COLL_VERB(COLL_IOC_TENSOR_POST, 0, coll_ioc_tensor_post),
	COLL_VERB(COLL_IOC_TENSOR_WAIT, 0, coll_ioc_tensor_wait),
	COLL_VERB(COLL_IOC_TENSOR_FUSE, COLL_VERB_SETUP, coll_ioc_tensor_fuse),
	COLL_VERB(COLL_IOC_SHM, COLL_VERB_SETUP, coll_ioc_shm),
	COLL_VERB(COLL_SUBMIT_V0, 0, coll_ioc_submit),
	COLL_VERB(COLL_IOC_POST, 0, coll_ioc_post),
	COLL_VERB(COLL_IOC_COLLECT, 0, coll_ioc_collect),
	COLL_VERB(COLL_IOC_SHM_WAIT, 0, coll_ioc_shm_wait),
	COLL_VERB(COLL_IOC_SHM_WAKE, 0, coll_ioc_shm_wake),
};

/* The verb of an ioctl number, NULL: there is none. Its struct may have grown since. */
static const struct coll_verb *coll_verb_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);
	const struct coll_verb *v;

	if (nr >= ARRAY_SIZE(coll_verbs))
		return NULL;
	v = &coll_verbs[array_index_nospec(nr, ARRAY_SIZE(coll_verbs))];
	if (!v->fn || _IOC_TYPE(cmd) != _IOC_TYPE(v->cmd) || _IOC_DIR(cmd) != _IOC_DIR(v->cmd))
		return NULL;
	return v;
}

static int coll_ioctl_setup(struct coll_file *cf, const struct coll_verb *v, void __user *arg,
			    u32 size)
{
	struct coll_member *m = cf->member;
	int ret = coll_setup_allowed(cf);

	if (ret)
		return ret;
	/* Nothing has been done yet: restart the call after the signal. */
	if (mutex_lock_interruptible(&m->setup))
		return -ERESTARTNOINTR;
	ret = v->fn(cf, arg, size);
	mutex_unlock(&m->setup);
	return ret;
}

long coll_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct coll_verb *v = coll_verb_find(cmd);
	struct coll_file *cf = file->private_data;
	void __user *p = (void __user *)arg;
	u32 size = _IOC_SIZE(cmd);

	if (!v)
		return -ENOTTY;
	if (size < _IOC_SIZE(v->cmd))
		return -EINVAL;
	if (v->flags & COLL_VERB_SETUP)
		return coll_ioctl_setup(cf, v, p, size);
	return v->fn(cf, p, size);
}
