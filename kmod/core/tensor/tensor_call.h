/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call that posts tensors, and the groups of which it posts members. A group may end while the
 * call is still posting it: the members that follow have to end as well.
 */
#ifndef COLL_CORE_TENSOR_CALL_H
#define COLL_CORE_TENSOR_CALL_H

#include "tensors.h"

/**
 * struct coll_tensor_group - a group of which a call posts members
 * @node: in member->tensors.calls; group->lock
 * @list: in coll_tensor_call.groups
 * @digest: of the group
 * @call: number of the call
 * @over: a member has ended by itself, or could not be posted: the others end, too; group->lock
 * @posted: members that the call has posted; of the call alone, like @members and @pending
 * @members: of the group
 * @pending: a member that the rank posted before is pending: the call posts no member of the group
 */
struct coll_tensor_group {
	struct rb_node node;
	struct list_head list;
	u64 digest;
	u64 call;
	bool over;
	u32 posted;
	u32 members;
	bool pending;
};

/**
 * struct coll_tensor_call - a call that posts tensors
 * @member: of the caller
 * @nr: number of the call
 * @groups: struct coll_tensor_group
 * @no_groups: the call must not wait for the end of a group, so it posts no member of one
 * @looked: it has looked for groups that have a member that is pending
 */
struct coll_tensor_call {
	struct coll_member *member;
	u64 nr;
	struct list_head groups;
	bool no_groups;
	bool looked;
};

void coll_tensor_call_begin(struct coll_tensor_call *call, struct coll_member *m, bool no_groups);

/* Forget its groups. Sleeps. */
void coll_tensor_call_end(struct coll_tensor_call *call);

/* The call posts a member of this group. Return: the group; NULL: no memory. Sleeps. */
struct coll_tensor_group *coll_tensor_call_group(struct coll_tensor_call *call, u64 digest);

/* A member of the group is pending from an earlier call. Return: 0 or -ENOMEM. Sleeps. */
int coll_tensor_call_pending(struct coll_tensor_call *call, u64 digest);

/*
 * The call ends. If it has posted only some members of the group, and the group is not over, the
 * group is over from now on. Return: has this happened?
 */
bool coll_tensor_call_breaks_off(struct coll_tensor_call *call, struct coll_tensor_group *group);

/* A member of the group could not be posted. */
void coll_tensor_call_refuse(struct coll_tensor_call *call, struct coll_tensor_group *group);

/* Has a member of the group, which the call posts, ended or been refused? */
bool coll_tensor_call_is_over(struct coll_tensor_call *call, u64 digest);

/* @t has ended by itself. Under group->lock. */
void coll_tensor_call_ended(struct coll_tensor_req *t);

#endif /* COLL_CORE_TENSOR_CALL_H */
