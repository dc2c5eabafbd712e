// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include <linux/coll.h>

#include "../compat.h"
#include "../core/group/member.h"
#include "../core/op/status.h"
#include "../core/plan/support.h"
#include "file.h"
#include "version.h"

/* The ABI: sizes never change. A new size needs a new version of the struct. */
static_assert(sizeof(struct coll_version) == 96);
static_assert(sizeof(struct coll_join) == 64);
static_assert(sizeof(struct coll_link_add) == 32);
static_assert(sizeof(struct coll_register) == 40);
static_assert(sizeof(struct coll_unregister) == 16);
static_assert(sizeof(struct coll_abort) == 16);
static_assert(sizeof(struct coll_cause) == 72);
static_assert(sizeof(struct coll_status) == 176);
static_assert(sizeof(struct coll_select_row) == 16);
static_assert(sizeof(struct coll_select) == 40);
static_assert(sizeof(struct coll_stripe) == 32);
static_assert(sizeof(struct coll_cmd) == 136);
static_assert(sizeof(struct coll_message) == 32);
static_assert(sizeof(struct coll_cancel) == 32);
static_assert(sizeof(struct coll_sqe) == 16);
static_assert(sizeof(struct coll_post_entry) == 24);
static_assert(sizeof(struct coll_post) == 32);
static_assert(sizeof(struct coll_completion) == 16);
static_assert(sizeof(struct coll_collect) == 32);
static_assert(sizeof(struct coll_tensor) == 136);
static_assert(sizeof(struct coll_tensor_post) == 40);
static_assert(sizeof(struct coll_tensor_result) == 48);
static_assert(sizeof(struct coll_tensor_wait) == 48);
static_assert(sizeof(struct coll_tensor_fuse) == 32);
static_assert(sizeof(struct coll_shm) == 48);
static_assert(sizeof(struct coll_shm_wait) == 32);
static_assert(offsetof(struct coll_status, cause) == 104);
static_assert(offsetof(struct coll_cmd, timeout_ns) == 40);
static_assert(offsetof(struct coll_cmd, message_addr) == 112);

/* If the caller's struct is larger than ours, the rest of it is cleared. */
static int coll_copy_out(void __user *arg, u32 size, const void *s, size_t ours)
{
	if (copy_to_user(arg, s, min_t(size_t, size, ours)))
		return -EFAULT;
	if (size > ours && clear_user(arg + ours, size - ours))
		return -EFAULT;
	return 0;
}

/* Features on every kernel */
#define COLL_FEATURES							\
	(COLL_FEAT_IOCTL | COLL_FEAT_URING | COLL_FEAT_REGISTER |	\
	 COLL_FEAT_LINKS | COLL_FEAT_NETLINK | COLL_FEAT_SELECT |	\
	 COLL_FEAT_SHARE | COLL_FEAT_SPIN | COLL_FEAT_STRIPE |		\
	 COLL_FEAT_NARROW | COLL_FEAT_CANCEL | COLL_FEAT_PROBE |	\
	 COLL_FEAT_POST | COLL_FEAT_TENSORS | COLL_FEAT_TENSOR_JOIN |	\
	 COLL_FEAT_TENSOR_GROUPS | COLL_FEAT_TENSORS_URING |		\
	 COLL_FEAT_TENSOR_FUSE | COLL_FEAT_TENSOR_SCALE | COLL_FEAT_SHM |	\
	 COLL_FEAT_WIRE_TYPES | COLL_FEAT_RANK_ORDER | COLL_FEAT_SHM_NODES |	\
	 COLL_FEAT_TENSOR_POST_WAIT)

static u64 coll_features(void)
{
	u64 features = COLL_FEATURES;

	if (IS_ENABLED(CONFIG_IO_URING))
		features |= COLL_FEAT_URING_FIXED;
	if (COLL_HAS_USER_THREADS)
		features |= COLL_FEAT_PROGRESS;
	if (COLL_URING_CAN_CANCEL)
		features |= COLL_FEAT_URING_CANCEL;
	if (IS_ENABLED(CONFIG_MMU_NOTIFIER))
		features |= COLL_FEAT_DEATH_NOTICE;
	return features;
}

int coll_ioc_version(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_version v = { };

	coll_describe(&v);
	v.features = coll_features();
	return coll_copy_out(arg, size, &v, sizeof(v));
}

int coll_ioc_status(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_status s;

	coll_member_status(cf->member, &s);
	return coll_copy_out(arg, size, &s, sizeof(s));
}
