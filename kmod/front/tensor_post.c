// SPDX-License-Identifier: GPL-2.0
/* Named collectives: COLL_IOC_TENSOR_POST. */
#include <linux/build_bug.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/plan/extent.h"
#include "../core/plan/support.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_call.h"
#include "../core/tensor/tensor_hands.h"
#include "../core/tensor/tensor_join.h"
#include "../core/tensor/tensor_life.h"
#include "../core/tensor/tensor_refuse.h"
#include "../core/tensor/tensor_scale.h"
#include "../core/tensor/tensor_talk.h"
#include "decode.h"
#include "file.h"
#include "tensor_post.h"

/* The coordinator orders ready tensors after this many posts. It sorts those that come together. */
#define COLL_POST_BATCH		64

/* First published size. */
#define COLL_TENSOR_SIZE_V0	120

/* A join has a tag, and no other field. */
static int coll_tensor_check_join(const struct coll_tensor *t)
{
	const struct coll_tensor only = { .flags = COLL_TENSOR_JOIN, .tag = t->tag };

	return memcmp(t, &only, sizeof(only)) ? -EINVAL : 0;
}

/* A group has a digest, and no more members than one call can post. */
static bool coll_tensor_group_valid(const struct coll_tensor *t)
{
	return t->members <= COLL_TENSOR_CALL_MAX && !t->members == !t->group;
}

static int coll_copy_tensor(struct coll_tensor *t, u64 arg, u32 size)
{
	int ret;

	BUILD_BUG_ON(sizeof(*t) < COLL_TENSOR_SIZE_V0);
	ret = copy_struct_from_user(t, sizeof(*t), u64_to_user_ptr(arg), size);
	if (ret)
		return ret;
	if (t->flags & ~(COLL_TENSOR_JOIN | COLL_TENSOR_AVG_PRESENT))
		return -EINVAL;
	if (t->flags & COLL_TENSOR_JOIN)
		return coll_tensor_check_join(t);
	if (!t->name_len || t->name_len > COLL_TENSOR_NAME_MAX ||
	    t->priority > COLL_TENSOR_PRIORITY_MAX || t->ndim > COLL_TENSOR_DIMS ||
	    !coll_tensor_group_valid(t))
		return -EINVAL;
	return 0;
}

/* Counts that only two ranks know cannot be compared before the collective starts. */
static bool coll_tensor_can_be(const struct coll_cmd *c)
{
	return c->collective != COLL_GATHERV && c->collective != COLL_SCATTERV &&
	       c->collective != COLL_ALLTOALLV;
}

/* Set the shape, which has to match the command. */
static int coll_tensor_shape(const struct coll_tensor *t, const struct coll_req *req,
			     struct coll_coord_params *p)
{
	u64 n = 1, d;
	bool empty = false;
	u32 k;

	p->field[COLL_FIELD_NDIM] = t->ndim;
	for (k = 0; k < COLL_TENSOR_DIMS; k++) {
		d = t->dims[k];
		p->field[COLL_FIELD_DIM0 + k] = d;
		if (k >= t->ndim) {
			if (d)
				return -EINVAL;
			continue;
		}
		empty |= !d;
		if (d && check_mul_overflow(n, d, &n))
			return -EOVERFLOW;
	}
	if (t->ndim)
		return req->counts || (empty ? 0 : n) == req->cmd.count ? 0 : -EINVAL;
	if (req->cmd.collective == COLL_BARRIER || req->counts)
		return 0;
	p->field[COLL_FIELD_NDIM] = 1;
	p->field[COLL_FIELD_DIM0] = req->cmd.count;
	return 0;
}

/* The sum of all counts. One that is too large is refused by coll_coord_check(). */
static u64 coll_tensor_total(const struct coll_req *req)
{
	u32 size = coll_member_group(req->member)->size, k;
	u64 sum = 0;

	for (k = 0; k < size; k++)
		if (check_add_overflow(sum, req->counts[k], &sum))
			return U64_MAX;
	return sum;
}

static int coll_tensor_params(const struct coll_tensor *t, const struct coll_req *req,
			      struct coll_coord_params *p)
{
	const struct coll_cmd *c = &req->cmd;

	if (!coll_tensor_can_be(c))
		return -EOPNOTSUPP;
	if (t->flags & COLL_TENSOR_AVG_PRESENT && c->op != COLL_OP_AVG)
		return -EINVAL;
	p->field[COLL_FIELD_DTYPE] = c->dtype;
	p->field[COLL_FIELD_COLLECTIVE] = c->collective;
	p->field[COLL_FIELD_OP] = c->op;
	p->field[COLL_FIELD_ROOT] = c->root;
	p->field[COLL_FIELD_WIRE] = coll_wire_type(c);
	p->field[COLL_FIELD_FLAGS] = c->flags & COLL_CMD_NARROW;
	if (t->flags & COLL_TENSOR_AVG_PRESENT)
		p->field[COLL_FIELD_FLAGS] |= COLL_FIELD_AVG_PRESENT;
	p->field[COLL_FIELD_PRIORITY] = t->priority;
	p->field[COLL_FIELD_GROUP] = t->group;
	p->field[COLL_FIELD_MEMBERS] = t->members;
	p->field[COLL_FIELD_ALGORITHM] = c->algorithm;
	if (req->counts) {
		p->field[COLL_FIELD_COUNTS] = req->agreed;
		p->field[COLL_FIELD_TOTAL] = coll_tensor_total(req);
	}
	p->field[COLL_FIELD_PRESCALE] = coll_tensor_factor(t->prescale);
	p->field[COLL_FIELD_POSTSCALE] = coll_tensor_factor(t->postscale);
	return coll_tensor_shape(t, req, p);
}

/* Return: as coll_tensor_post(). */
static int coll_post_decoded(struct coll_tensor_req *t, const struct coll_tensor *arg)
{
	struct coll_coord_params p = { };
	u8 name[COLL_TENSOR_NAME_MAX];
	u32 len = array_index_nospec(arg->name_len, COLL_TENSOR_NAME_MAX + 1);
	int ret;

	if (copy_from_user(name, u64_to_user_ptr(arg->name), len))
		return -EFAULT;
	ret = coll_tensor_params(arg, &t->req, &p);
	if (!ret)
		ret = coll_tensor_scale(&t->req, &p);
	return ret ?: coll_tensor_post(t, name, len, &p);
}

static int coll_post_copied(struct coll_tensor_call *call, const struct coll_tensor *tensor)
{
	struct coll_member *m = call->member;
	struct coll_tensor_req *t;
	int ret;

	t = coll_tensor_alloc(m, GFP_KERNEL);
	if (!t)
		return coll_refused(m, -ENOMEM);
	t->tag = tensor->tag;
	t->group = tensor->group;
	t->call = call->nr;
	if (tensor->flags & COLL_TENSOR_JOIN) {
		ret = coll_tensor_join(t);
		if (ret)
			goto free;
		return 0;
	}
	ret = coll_decode(m, tensor->cmd, tensor->cmd_len, NULL, &t->req);
	if (ret)
		goto free;
	ret = coll_post_decoded(t, tensor);
	if (ret >= 0)
		return ret;
	coll_decode_undo(&t->req);
free:
	coll_tensor_free(t);
	return ret;
}

/* Copy in a tensor that is in a group, and its name. Return: bytes of the name; 0: there is none. */
static u32 coll_copy_member(struct coll_tensor *t, u8 *name, u64 arg, u32 size)
{
	u32 len;

	if (copy_struct_from_user(t, sizeof(*t), u64_to_user_ptr(arg), size))
		return 0;
	if (!t->group || !coll_tensor_group_valid(t))
		return 0;
	if (!t->name_len || t->name_len > COLL_TENSOR_NAME_MAX)
		return 0;
	len = array_index_nospec(t->name_len, COLL_TENSOR_NAME_MAX + 1);
	return copy_from_user(name, u64_to_user_ptr(t->name), len) ? 0 : len;
}

/*
 * Find out which groups of the tensors that follow have a member that is pending. Return: 0 or
 * -ENOMEM.
 */
static int coll_post_look(struct coll_tensor_call *call, const struct coll_tensor_post *p)
{
	struct coll_tensor tensor;
	u8 name[COLL_TENSOR_NAME_MAX];
	int ret = 0;
	u32 k, len;

	for (k = p->posted; k < p->nr && !ret; k++) {
		len = coll_copy_member(&tensor, name, p->tensors + (u64)k * p->size, p->size);
		if (len && coll_tensor_is_pending(call->member, name, len))
			ret = coll_tensor_call_pending(call, tensor.group);
		if (!((k + 1) % COLL_POST_BATCH))
			cond_resched();
	}
	call->looked = true;
	return ret;
}

/*
 * Post a member of a group: all members or none are posted. Return: as coll_post_copied(). If the
 * group is refused, *@refused is set to it.
 */
static int coll_post_member(struct coll_tensor_call *call, const struct coll_tensor *tensor,
			    int ret, u64 *refused)
{
	struct coll_tensor_group *group = coll_tensor_call_group(call, tensor->group);

	/* A mistake of the caller: change nothing. The earlier post of the group goes on. */
	if (group && group->pending)
		return ret ?: -EEXIST;
	if (group)
		group->members = tensor->members;
	if (!ret)
		ret = group ? coll_post_copied(call, tensor) : -ENOMEM;
	if (ret && group)
		coll_tensor_call_refuse(call, group);
	/* The group may also have ended meanwhile. */
	if (ret || coll_tensor_call_is_over(call, tensor->group))
		coll_tensors_withdraw(call->member, tensor->group);
	if (ret < 0)
		*refused = tensor->group;
	else
		group->posted++;
	return ret;
}

/* The next tensor. @refused: as coll_post_member() */
static int coll_post_one(struct coll_tensor_call *call, const struct coll_tensor_post *p,
			 u64 *refused)
{
	struct coll_tensor tensor = { };
	int ret, err = 0;

	ret = coll_copy_tensor(&tensor, p->tensors + (u64)p->posted * p->size, p->size);
	/* Another thread has changed the tensor after coll_post_has_group(). */
	if (tensor.group && call->no_groups)
		return -EINVAL;
	/* Other ranks can only wait for a group that is valid. */
	if (tensor.group && coll_tensor_group_valid(&tensor)) {
		if (!call->looked)
			err = coll_post_look(call, p);
		/* Nothing of any group has been posted or refused. */
		if (err)
			return err;
		ret = coll_post_member(call, &tensor, ret, refused);
	} else if (!ret) {
		ret = coll_post_copied(call, &tensor);
	}
	return min(ret, 0);
}

/* Refuse a tensor that this call does not post, if its group is @refused, or has ended. */
static void coll_post_refuse(struct coll_tensor_call *call, u64 arg, u32 size, u64 refused)
{
	struct coll_tensor tensor;
	u8 name[COLL_TENSOR_NAME_MAX];
	u32 len = coll_copy_member(&tensor, name, arg, size);

	if (len && (tensor.group == refused || coll_tensor_call_is_over(call, tensor.group)))
		coll_tensor_refuse(call->member, name, len, tensor.group);
}

/* Withdraw groups of which this call has posted some members only. */
static void coll_post_break_off(struct coll_tensor_call *call)
{
	struct coll_tensor_group *group;

	list_for_each_entry(group, &call->groups, list) {
		if (coll_tensor_call_breaks_off(call, group))
			coll_tensors_withdraw(call->member, group->digest);
		cond_resched();
	}
}

/*
 * The call ends before the last tensor. If it has posted or refused some members of a group, refuse
 * the members that follow, and tell all ranks.
 */
static void coll_post_refuse_rest(struct coll_tensor_call *call, const struct coll_tensor_post *p,
				  u64 refused)
{
	u32 k;

	coll_post_break_off(call);
	for (k = p->posted; k < p->nr; k++) {
		coll_post_refuse(call, p->tensors + (u64)k * p->size, p->size, refused);
		if (k + 1 == p->nr || !((k + 1) % COLL_POST_BATCH)) {
			coll_tensors_flush(coll_member_group(call->member));
			cond_resched();
		}
	}
	coll_tensors_refused(call->member);
}

/*
 * Must the call end before the rest is posted, because the caller has a signal to handle, or has to
 * stop? A group is posted by one call. A command of io_uring posts all.
 */
static bool coll_post_stops(const struct coll_tensor_call *call, const struct coll_tensor_post *p)
{
	return p->posted && !call->no_groups && !(current->flags & PF_IO_WORKER) &&
	       list_empty(&call->groups) && task_sigpending(current);
}

static int coll_post_all(struct coll_tensor_call *call, struct coll_tensor_post *p)
{
	struct coll_group *g = coll_member_group(call->member);
	u64 refused = 0;
	int ret = 0;

	while (p->posted < p->nr && !ret && !coll_post_stops(call, p)) {
		ret = coll_post_one(call, p, &refused);
		if (!ret)
			p->posted++;
		if (ret || !(p->posted % COLL_POST_BATCH)) {
			coll_tensors_flush(g);
			cond_resched();
		}
	}
	if (!ret)
		coll_tensors_flush(g);
	if (ret && (refused || !list_empty(&call->groups)))
		coll_post_refuse_rest(call, p, refused);
	return ret;
}

int coll_post_copy(struct coll_tensor_post *p, const void __user *arg, u32 size)
{
	int ret = copy_struct_from_user(p, sizeof(*p), arg, size);

	if (ret)
		return ret;
	if (!p->nr || p->nr > COLL_TENSOR_CALL_MAX || p->size < COLL_TENSOR_SIZE_V0 ||
	    p->size > PAGE_SIZE || p->posted || p->flags ||
	    memchr_inv(p->reserved, 0, sizeof(p->reserved)))
		return -EINVAL;
	return 0;
}

bool coll_post_has_group(const struct coll_tensor_post *p)
{
	const struct coll_tensor __user *t;
	u64 group;
	u32 k;

	for (k = 0; k < p->nr; k++) {
		t = u64_to_user_ptr(p->tensors + (u64)k * p->size);
		/* The post ends there as well. */
		if (copy_from_user(&group, &t->group, sizeof(group)))
			return false;
		if (group)
			return true;
		if (!((k + 1) % COLL_POST_BATCH))
			cond_resched();
	}
	return false;
}

int coll_post_tensors(struct coll_file *cf, struct coll_tensor_post __user *to,
		      struct coll_tensor_post *p, bool no_groups)
{
	struct coll_member *m = cf->member;
	u64 begin = coll_account_begin();
	struct coll_tensor_call call;
	int ret = coll_tensors_check(m);

	if (ret)
		return ret;
	if (!coll_tensors_linked(coll_member_group(m)))
		return -ENOTCONN;
	coll_tensor_call_begin(&call, m, no_groups);
	coll_tensors_post_begin(coll_member_group(m));
	ret = coll_post_all(&call, p);
	coll_tensors_post_end(coll_member_group(m));
	coll_tensor_call_end(&call);
	coll_account_call(m, begin);
	/* If this faults the caller does not learn how many were posted. */
	return put_user(p->posted, &to->posted) ? -EFAULT : ret;
}

int coll_ioc_tensor_post(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_tensor_post p;
	int ret = coll_post_copy(&p, arg, size);

	return ret ?: coll_post_tensors(cf, arg, &p, false);
}
