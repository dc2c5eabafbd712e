// SPDX-License-Identifier: GPL-2.0
/* The order of init and exit, and what a group has parts of. */
#include <linux/module.h>
#include <linux/netdevice.h>

#include "core/exec/nt_store.h"
#include "core/group/group.h"
#include "core/group/link.h"
#include "core/group/shm.h"
#include "core/mem/reduce.h"
#include "core/op/op.h"
#include "core/p2p/walk.h"
#include "core/plan/plan.h"
#include "core/plan/plan_keep.h"
#include "core/plan/select.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_life.h"
#include "front/chardev.h"
#include "front/file.h"
#include "front/netlink.h"
#include "front/spin.h"
#include "xport/tcp.h"

static char *simd = "";
module_param(simd, charp, 0444);
MODULE_PARM_DESC(simd, "instruction set of reductions: scalar, sse2, avx2, avx512; default: the fastest");

static const struct coll_group_part *const coll_parts[] = {
	&coll_shm_part,
	&coll_p2p_part,
	&coll_op_part,
	&coll_select_part,
	&coll_plan_part,
	&coll_tensors_part,
	NULL
};

static int __init coll_init(void)
{
	int ret;

	ret = coll_reduce_init(simd);
	if (ret)
		return ret;
	ret = coll_tensor_cache_init();
	if (ret)
		return ret;
	ret = coll_group_init(coll_parts);
	if (ret)
		goto tensor_exit;
	coll_nt_init();
	coll_spin_init();
	coll_link_set_transport(&coll_tcp_transport);
	ret = coll_netlink_init();
	if (ret)
		goto group_exit;
	ret = coll_chardev_init();
	if (ret)
		goto netlink_exit;
	return 0;

netlink_exit:
	coll_netlink_exit();
group_exit:
	coll_group_exit();
tensor_exit:
	coll_tensor_cache_exit();
	return ret;
}

/* No file is open any more, so no member, and no new group. */
static void __exit coll_exit(void)
{
	coll_chardev_exit();
	coll_netlink_exit();
	coll_group_exit();
	/* A socket callback may have begun just before it was taken off. */
	synchronize_net();
	coll_tensor_cache_exit();
}

module_init(coll_init);
module_exit(coll_exit);
MODULE_DESCRIPTION("Collective communication as a kernel service");
MODULE_LICENSE("GPL");
