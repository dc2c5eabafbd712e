// SPDX-License-Identifier: GPL-2.0
/* COLL_IOC_TENSOR_POST and COLL_IOC_TENSOR_WAIT. */
#include <linux/build_bug.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../core/deadline.h"
#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/op/op_run.h"
#include "../core/plan/extent.h"
#include "../core/plan/support.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_call.h"
#include "../core/tensor/tensor_join.h"
#include "../core/tensor/tensor_life.h"
#include "../core/tensor/tensor_refuse.h"
#include "../core/tensor/tensor_results.h"
#include "../core/tensor/tensor_scale.h"
#include "../core/tensor/tensor_talk.h"
#include "calls.h"
#include "decode.h"
#include "end.h"
#include "file.h"
#include "spin.h"
#include "tensor.h"

/* The coordinator orders ready tensors after this many posts. It sorts those that come together. */
#define COLL_POST_BATCH		64

/* First published size. */
#define COLL_TENSOR_SIZE_V0	120

/* May this member use named collectives? */
static int coll_tensor_check_member(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);

	if (!coll_member_is_owner(m))
		return -EPERM;
	if (!g)
		return -ENOTCONN;
	return g->tensors ? 0 : -EOPNOTSUPP;
}

/* --- POST ----------------------------------------------------------------------- */

/* A join has a tag, and no other field. */
static int coll_tensor_check_join(const struct coll_tensor *t)
{
	const struct coll_tensor only = { .flags = COLL_TENSOR_JOIN, .tag = t->tag };

	return memcmp(t, &only, sizeof(only)) ? -EINVAL : 0;
}

/* A group has a digest, and as many members as one call can post, at most. */
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
	p->field[COLL_FIELD_COUNTS] = req->counts ? req->agreed : 0;
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

	t = coll_tensor_alloc(m);
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

/* Post a member of a group: all members or none are posted. Return: as coll_post_copied(). */
static int coll_post_member(struct coll_tensor_call *call, const struct coll_tensor *tensor,
			    int ret)
{
	struct coll_tensor_group *group = coll_tensor_call_group(call, tensor->group);

	if (!ret)
		ret = group ? coll_post_copied(call, tensor) : -ENOMEM;
	if (ret && group)
		coll_tensor_call_refuse(call, group);
	/* The group may also have ended meanwhile. */
	if (ret || coll_tensor_call_is_over(call, tensor->group))
		coll_tensors_withdraw(call->member, tensor->group);
	return ret;
}

/* @refused: the group, if any, of a tensor that cannot be posted */
static int coll_post_one(struct coll_tensor_call *call, u64 arg, u32 size, u64 *refused)
{
	struct coll_tensor tensor = { };
	int ret;

	ret = coll_copy_tensor(&tensor, arg, size);
	/* Another thread has changed the tensor after coll_post_has_group(). */
	if (tensor.group && call->no_groups)
		return -EINVAL;
	/* Other ranks can only wait for a group that is valid. */
	if (tensor.group && coll_tensor_group_valid(&tensor))
		ret = coll_post_member(call, &tensor, ret);
	else if (!ret)
		ret = coll_post_copied(call, &tensor);
	if (ret < 0 && coll_tensor_group_valid(&tensor))
		*refused = tensor.group;
	return min(ret, 0);
}

/* Refuse a tensor that this call does not post, if its group is @refused or has ended. */
static void coll_post_refuse(struct coll_tensor_call *call, u64 arg, u32 size, u64 refused)
{
	struct coll_tensor tensor = { };
	u8 name[COLL_TENSOR_NAME_MAX];
	u32 len;

	if (copy_struct_from_user(&tensor, sizeof(tensor), u64_to_user_ptr(arg), size))
		return;
	if (!tensor.group || !coll_tensor_group_valid(&tensor))
		return;
	if (tensor.group != refused && !coll_tensor_call_is_over(call, tensor.group))
		return;
	if (!tensor.name_len || tensor.name_len > COLL_TENSOR_NAME_MAX)
		return;
	len = array_index_nospec(tensor.name_len, COLL_TENSOR_NAME_MAX + 1);
	if (!copy_from_user(name, u64_to_user_ptr(tensor.name), len))
		coll_tensor_refuse(call->member, name, len, tensor.group);
}

/*
 * A member of group @refused cannot be posted: refuse the members that follow, and tell all ranks.
 * Do the same for groups that have ended while they were being posted.
 */
static void coll_post_refuse_rest(struct coll_tensor_call *call, const struct coll_tensor_post *p,
				  u64 refused)
{
	u32 k;

	for (k = p->posted; k < p->nr; k++) {
		coll_post_refuse(call, p->tensors + (u64)k * p->size, p->size, refused);
		if (k + 1 == p->nr || !((k + 1) % COLL_POST_BATCH)) {
			coll_tensors_flush(coll_member_group(call->member));
			cond_resched();
		}
	}
	coll_tensors_refused(call->member);
}

static int coll_post_all(struct coll_tensor_call *call, struct coll_tensor_post *p)
{
	struct coll_group *g = coll_member_group(call->member);
	u64 refused = 0;
	int ret = 0;

	while (p->posted < p->nr && !ret) {
		ret = coll_post_one(call, p->tensors + (u64)p->posted * p->size, p->size,
				    &refused);
		if (!ret)
			p->posted++;
		if (ret || p->posted == p->nr || !(p->posted % COLL_POST_BATCH)) {
			coll_tensors_flush(g);
			cond_resched();
		}
	}
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
	int ret = coll_tensor_check_member(m);

	if (ret)
		return ret;
	if (!coll_tensors_linked(coll_member_group(m)))
		return -ENOTCONN;
	coll_tensor_call_begin(&call, m, no_groups);
	ret = coll_post_all(&call, p);
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

/* --- WAIT ----------------------------------------------------------------------- */

/* Is there work to do, or is the wait over? */
static bool coll_wait_wakes(struct coll_member *m, struct coll_tensors_waiter *t,
			    const struct coll_watcher *w)
{
	struct coll_group *g = coll_member_group(m);

	return coll_tensors_wait_over(m, t) || coll_tensors_due(g) ||
	       coll_group_can_help(g) || coll_links_due(g, w);
}

/*
 * The waiting thread does the work of workers, because workers of its user may have to run at nice
 * 19. Once it has its results it leaves the rest to them.
 */
static void coll_wait_work(struct coll_member *m, struct coll_watcher *w)
{
	struct coll_group *g = coll_member_group(m);
	u64 begin = coll_account_begin();

	coll_links_attend(g, w);
	if (coll_tensors_due(g) || coll_group_can_help(g)) {
		/* Links must not wait for this work. */
		coll_links_unwatch(g, w);
		coll_tensors_settle(g);
		coll_group_help(g, NULL, w->done);
		coll_links_watch(g, w);
	}
	coll_account_call(m, begin);
}

/*
 * Poll for a while: falling asleep and being woken takes longer than a small tensor. Not if another
 * thread wants the CPU. *@us is halved if the time was not enough.
 */
static void coll_wait_spin(struct coll_member *m, u32 min, struct coll_watcher *w, u32 *us)
{
	struct coll_group *g = coll_member_group(m);
	u64 end = ktime_get_ns() + *us * (u64)NSEC_PER_USEC;

	while (*us && !coll_tensors_seem_collectable(m, min) && !signal_pending(current) &&
	       single_task_running() && !need_resched() && !READ_ONCE(g->nr_open)) {
		if (ktime_get_ns() >= end) {
			*us /= 2;
			break;
		}
		coll_links_attend(g, w);
		cpu_relax();
	}
}

/* Sleep until there is something to do. Return: 0, or an error that ends the wait. */
static int coll_wait_sleep(struct coll_member *m, struct coll_tensors_waiter *t,
			   const struct coll_watcher *w, u64 expires)
{
	unsigned long left;
	long ret;

	if (!expires)
		return wait_event_interruptible(m->tensors.wq, coll_wait_wakes(m, t, w));
	left = coll_deadline_delay(expires);
	if (!left)
		return -ETIMEDOUT;
	ret = wait_event_interruptible_timeout(m->tensors.wq, coll_wait_wakes(m, t, w), left);
	return min_t(long, ret, 0);
}

/* Wait until there are @min results. Return: 0 there are, or there will be no more. */
static int coll_wait_for(struct coll_member *m, u32 min, u64 expires)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_tensors_waiter t = { .min = min };
	struct coll_watcher w = { .wq = &m->tensors.wq, .done = &t.done };
	u32 spin_us = coll_spin_group_us(g);
	int ret = 0;

	coll_links_watch(g, &w);
	coll_tensors_wait_begin(m, &t);
	while (!ret && !coll_tensors_wait_over(m, &t)) {
		coll_wait_spin(m, min, &w, &spin_us);
		/* A thread with a signal pending does not help: coll_wait_wakes() may stay true. */
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		ret = coll_wait_sleep(m, &t, &w, expires);
		if (!ret)
			coll_wait_work(m, &w);
	}
	coll_tensors_wait_end(m, &t);
	coll_links_unwatch(g, &w);
	return ret;
}

/* Store one result. If that works, the caller has to free @t. */
static int coll_wait_tell(struct coll_tensor_req *t, struct coll_tensor_result __user *to)
{
	struct coll_tensor_result r = { .tag = t->tag };
	u32 k;

	t->result = coll_deliver(&t->req, t->result);
	r.result = t->result;
	r.cause = t->bad.cause;
	r.rank[0] = t->last;
	if (r.cause) {
		r.field = t->bad.field;
		for (k = 0; k < ARRAY_SIZE(r.rank); k++) {
			r.rank[k] = t->bad.rank[k];
			r.value[k] = t->bad.value[k];
		}
	}
	return copy_to_user(to, &r, sizeof(r)) ? -EFAULT : 0;
}

/* Store the results that there are. Return: 0 or -EFAULT. */
static int coll_wait_take(struct coll_member *m, struct coll_tensor_wait *w)
{
	struct coll_tensor_result __user *to = u64_to_user_ptr(w->results);
	struct coll_tensor_req *t, *next;
	LIST_HEAD(done);

	while (coll_tensors_collect(m, &done, w->nr - w->got)) {
		list_for_each_entry_safe(t, next, &done, list) {
			if (coll_wait_tell(t, to + w->got)) {
				coll_tensors_uncollect(m, &done);
				return -EFAULT;
			}
			list_del(&t->list);
			coll_tensor_free(t);
			w->got++;
		}
		cond_resched();
	}
	return 0;
}

static int coll_wait_all(struct coll_member *m, struct coll_tensor_wait *w)
{
	u64 expires = w->timeout_ns ? coll_deadline(w->timeout_ns) : 0;
	int ret = 0;

	do {
		if (w->got < w->min)
			ret = coll_wait_for(m, w->min - w->got, expires);
		/* Results that are there are returned, however the wait has ended. */
		if (coll_wait_take(m, w))
			return -EFAULT;
	} while (!ret && w->got < w->min && coll_tensors_open(m));
	/* For a call that is restarted after a signal. 0 means no limit. */
	if (expires)
		w->timeout_ns = max(coll_deadline_left(expires), 1ULL);
	return w->got ? 0 : ret;
}

int coll_wait_copy(struct coll_tensor_wait *w, const void __user *arg, u32 size)
{
	int ret = copy_struct_from_user(w, sizeof(*w), arg, size);

	if (ret)
		return ret;
	if (!w->nr || w->nr > COLL_TENSOR_CALL_MAX || w->min > w->nr || w->got || w->flags ||
	    memchr_inv(w->reserved, 0, sizeof(w->reserved)))
		return -EINVAL;
	return 0;
}

int coll_wait_tensors(struct coll_file *cf, struct coll_tensor_wait __user *to,
		      struct coll_tensor_wait *w)
{
	struct coll_member *m = cf->member;
	int ret = coll_tensor_check_member(m);

	if (ret)
		return ret;
	ret = coll_wait_all(m, w);
	if (put_user(w->got, &to->got))
		return -EFAULT;
	return ret;
}

int coll_ioc_tensor_wait(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_tensor_wait __user *to = arg;
	struct coll_tensor_wait w;
	struct coll_call *call;
	int ret = coll_wait_copy(&w, arg, size);

	if (ret || !w.min)
		return ret ?: coll_wait_tensors(cf, arg, &w);
	if (!coll_member_is_owner(cf->member))
		return -EPERM;
	/* The caller's reference to the file counts: another thread may close the last descriptor. */
	call = coll_call_begin(cf);
	if (!call)
		return -ENOMEM;
	ret = coll_wait_tensors(cf, to, &w);
	coll_call_end(call);
	if (ret == -ERESTARTSYS && w.timeout_ns && put_user(w.timeout_ns, &to->timeout_ns))
		return -EFAULT;
	if (ret < 0 && fatal_signal_pending(current))
		coll_end_killed(cf);
	return ret;
}
