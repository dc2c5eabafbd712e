// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/coll_nl.h>

#include "names.h"

#define NAME(names, value) \
	((value) < sizeof(names) / sizeof((names)[0]) ? (names)[value] : NULL)

static const char *const feature_names[] = {
	[0]	= "ioctl",
	[1]	= "uring",
	[2]	= "uring-cancel",
	[3]	= "register",
	[4]	= "links",
	[5]	= "netlink",
	[6]	= "death-notice",
	[9]	= "select",
	[10]	= "share",
	[11]	= "spin",
	[12]	= "uring-fixed",
	[13]	= "stripe",
	[14]	= "progress",
	[15]	= "narrow",
	[16]	= "cancel",
	[17]	= "probe",
	[18]	= "post",
	[19]	= "tensors",
	[20]	= "tensor-join",
	[21]	= "tensor-groups",
	[22]	= "tensors-uring",
	[23]	= "tensor-fuse",
	[24]	= "tensor-scale",
	[25]	= "shm",
	[26]	= "wire-types",
	[27]	= "rank-order",
	[28]	= "shm-nodes",
	[29]	= "tensor-post-wait",
};

static const char *const state_names[] = {
	[COLL_STATE_NEW]	= "new",
	[COLL_STATE_JOINING]	= "joining",
	[COLL_STATE_READY]	= "ready",
	[COLL_STATE_FAILED]	= "failed",
};

static const char *const select_source_names[COLL_NR_SELECT_SOURCES] = {
	[COLL_SELECT_USER]	= "set",
	[COLL_SELECT_MODEL]	= "model",
	[COLL_SELECT_MEASURED]	= "measured",
	[COLL_SELECT_FILE]	= "file",
	[COLL_SELECT_FIXED]	= "fixed",
};

static const char *const link_state_names[] = {
	[COLL_NL_LINK_STATE_GREETING]	= "greeting",
	[COLL_NL_LINK_STATE_UP]		= "up",
	[COLL_NL_LINK_STATE_DOWN]	= "down",
};

static const char *const send_mode_names[] = {
	[COLL_NL_SEND_MODE_COPY]	= "copy",
	[COLL_NL_SEND_MODE_SPLICE]	= "splice",
	[COLL_NL_SEND_MODE_UBUF]	= "ubuf",
};

static const char *const rank_state_names[] = {
	[COLL_NL_STALL_STATE_RUNNING]	= "running",
	[COLL_NL_STALL_STATE_STOPPED]	= "stopped",
	[COLL_NL_STALL_STATE_FROZEN]	= "frozen",
	[COLL_NL_STALL_STATE_DEAD]	= "dead",
	[COLL_NL_STALL_STATE_LEFT]	= "left",
	[COLL_NL_STALL_STATE_ABSENT]	= "not joined",
};

const char *coll_feature_name(u64 bit)
{
	return NAME(feature_names, bit);
}

const char *coll_state_name(u64 state)
{
	return NAME(state_names, state);
}

const char *coll_select_source_name(u64 source)
{
	return NAME(select_source_names, source);
}

const char *coll_link_state_name(u64 state)
{
	return NAME(link_state_names, state);
}

const char *coll_send_mode_name(u64 mode)
{
	return NAME(send_mode_names, mode);
}

const char *coll_rank_state_name(u64 state)
{
	return NAME(rank_state_names, state);
}
