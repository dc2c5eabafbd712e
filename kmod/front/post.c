// SPDX-License-Identifier: GPL-2.0
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <linux/coll.h>

#include "../core/deadline.h"
#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/mem/slot.h"
#include "../core/user.h"
#include "calls.h"
#include "decode.h"
#include "end.h"
#include "file.h"
#include "flight.h"
#include "post.h"

/**
 * struct coll_posted - a command of COLL_IOC_POST
 * @flight: the command
 * @tag: given by user space
 * @counted: it counts in user->posts until it is collected
 * @list: in posts->done when it is complete
 *
 * Owner: core while it is in flight, then the file, until it is collected.
 */
struct coll_posted {
	struct coll_flight flight;
	u64 tag;
	bool counted;
	struct list_head list;
};

void coll_posts_init(struct coll_posts *p)
{
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->done);
	init_waitqueue_head(&p->wq);
}

static void coll_posted_free(struct coll_posted *c)
{
	struct coll_file *cf = c->flight.cf;

	if (c->counted)
		coll_user_drop_post(coll_member_group(cf->member)->user);
	kfree(c);
	spin_lock(&cf->posts.lock);
	cf->posts.nr--;
	spin_unlock(&cf->posts.lock);
}

/* Add @nr to the commands in flight. Under the lock. */
static void coll_posts_add_flying_locked(struct coll_posts *p, int nr)
{
	lockdep_assert_held(&p->lock);
	p->nr_flying += nr;
	if (nr < 0)
		wake_up(&p->wq);
}

static void coll_posts_add_done_locked(struct coll_posts *p, int nr)
{
	lockdep_assert_held(&p->lock);
	WRITE_ONCE(p->nr_done, p->nr_done + nr);
}

/*
 * Do all of this under the lock: the release of the file takes the lock to check that no command is
 * in flight, and then frees the file.
 */
static void coll_posted_landed(struct coll_flight *f)
{
	struct coll_posted *c = container_of(f, struct coll_posted, flight);
	struct coll_posts *p = &f->cf->posts;

	spin_lock(&p->lock);
	list_add_tail(&c->list, &p->done);
	coll_posts_add_done_locked(p, 1);
	coll_posts_add_flying_locked(p, -1);
	spin_unlock(&p->lock);
}

/* Free a command that has not been posted. */
static void coll_posted_drop(struct coll_posts *p, struct coll_posted *c)
{
	coll_posted_free(c);
	spin_lock(&p->lock);
	coll_posts_add_flying_locked(p, -1);
	spin_unlock(&p->lock);
}

/*
 * A command counts from here until it is collected: a complete command takes memory, too. The
 * first commands of each file do not count, as for commands in flight.
 */
static struct coll_posted *coll_posted_alloc(struct coll_file *cf)
{
	struct coll_user *user = coll_member_group(cf->member)->user;
	struct coll_posts *p = &cf->posts;
	struct coll_posted *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->flight.cf = cf;
	c->flight.landed = coll_posted_landed;
	spin_lock(&p->lock);
	c->counted = p->nr++ >= COLL_INFLIGHT_FREE;
	coll_posts_add_flying_locked(p, 1);
	spin_unlock(&p->lock);
	if (!c->counted || coll_user_add_post(user))
		return c;
	c->counted = false;
	coll_posted_drop(p, c);
	return ERR_PTR(-EAGAIN);
}

static int coll_post_one(struct coll_file *cf, const struct coll_post_entry *e)
{
	struct coll_posted *c;
	int ret;

	if (e->flags)
		return -EINVAL;
	c = coll_posted_alloc(cf);
	if (IS_ERR(c))
		return coll_refused(cf->member, PTR_ERR(c));
	c->tag = e->tag;
	ret = coll_flight_decode(&c->flight, cf, e->arg, e->len, NULL);
	if (!ret)
		ret = coll_flight_post(&c->flight);
	if (ret)
		coll_posted_drop(&cf->posts, c);
	return ret;
}

static int coll_post(struct coll_file *cf, const struct coll_post *a)
{
	const struct coll_post_entry __user *from = u64_to_user_ptr(a->entries);
	u64 begin = coll_account_begin();
	struct coll_post_entry e;
	int ret = 0;
	u32 i;

	if (!a->nr || a->nr > COLL_POST_MAX || a->flags || a->reserved[0] || a->reserved[1])
		return -EINVAL;
	if (!coll_member_is_owner(cf->member))
		return -EPERM;
	if (!coll_member_group(cf->member))
		return -ENOTCONN;
	for (i = 0; i < a->nr && !(i && signal_pending(current)); i++) {
		ret = copy_from_user(&e, &from[i], sizeof(e)) ? -EFAULT :
		      coll_post_one(cf, &e);
		if (ret)
			break;
		cond_resched();
	}
	coll_account_call(cf->member, begin);
	return i ?: ret;
}

static struct coll_posted *coll_posts_take(struct coll_posts *p)
{
	struct coll_posted *c;

	spin_lock(&p->lock);
	c = list_first_entry_or_null(&p->done, struct coll_posted, list);
	if (c) {
		list_del(&c->list);
		coll_posts_add_done_locked(p, -1);
	}
	spin_unlock(&p->lock);
	return c;
}

/* Put back a command whose completion could not be stored. Its results have been delivered. */
static void coll_posts_put_back(struct coll_posts *p, struct coll_posted *c)
{
	spin_lock(&p->lock);
	list_add(&c->list, &p->done);
	coll_posts_add_done_locked(p, 1);
	wake_up(&p->wq);
	spin_unlock(&p->lock);
}

static int coll_collect_one(struct coll_file *cf, struct coll_posted *c,
			    struct coll_completion __user *to)
{
	struct coll_completion done = { .tag = c->tag };

	c->flight.result = coll_deliver(&c->flight.req, c->flight.result);
	done.result = c->flight.result;
	if (copy_to_user(to, &done, sizeof(done))) {
		coll_posts_put_back(&cf->posts, c);
		return -EFAULT;
	}
	coll_posted_free(c);
	return 0;
}

/* Store the completions that there are, behind the first *@nr, which have been stored. */
static int coll_collect_now(struct coll_file *cf, const struct coll_collect *a, u32 *nr)
{
	struct coll_completion __user *to = u64_to_user_ptr(a->completions);
	struct coll_posted *c;
	int ret = 0;

	while (*nr < a->nr && !ret) {
		c = coll_posts_take(&cf->posts);
		if (!c)
			break;
		ret = coll_collect_one(cf, c, &to[*nr]);
		*nr += !ret;
		cond_resched();
	}
	return ret;
}

/* Are there @nr completions, or is no command in flight? */
static bool coll_posts_ready(struct coll_posts *p, u32 nr)
{
	bool ready;

	spin_lock(&p->lock);
	ready = p->nr_done >= nr || !p->nr_flying;
	spin_unlock(&p->lock);
	return ready;
}

/* Is there anything to wait for, or to collect? */
static bool coll_posts_any(struct coll_posts *p)
{
	bool any;

	spin_lock(&p->lock);
	any = p->nr_flying || p->nr_done;
	spin_unlock(&p->lock);
	return any;
}

/*
 * Sleep until there are @nr completions. The reference of the caller to the file is counted
 * as that of a blocking call: another thread may close the last descriptor meanwhile.
 * Return: 0; 1: the time is over; -ERESTARTSYS; -ENOMEM.
 */
static int coll_collect_wait(struct coll_file *cf, u32 nr, u64 expires)
{
	struct coll_call *call = coll_call_begin(cf);
	unsigned long delay = MAX_SCHEDULE_TIMEOUT;
	long ret = 0;

	if (!call)
		return -ENOMEM;
	while (!ret && !coll_posts_ready(&cf->posts, nr)) {
		if (expires)
			delay = coll_deadline_delay(expires);
		if (!delay) {
			ret = 1;
			break;
		}
		ret = wait_event_interruptible_timeout(cf->posts.wq,
						       coll_posts_ready(&cf->posts, nr), delay);
		/* In both cases the loop checks again. */
		if (ret > 0)
			ret = 0;
	}
	coll_call_end(call);
	if (ret < 0 && fatal_signal_pending(current))
		coll_end_killed(cf);
	return ret;
}

/* The rest of the time, for a call that is restarted after a signal. */
static u64 coll_collect_left(u64 expires)
{
	return expires ? coll_deadline_left(expires) : COLL_COLLECT_FOREVER;
}

static int coll_collect(struct coll_file *cf, struct coll_collect *a)
{
	u64 expires = 0;
	u32 nr = 0;
	int ret;

	if (!a->nr || a->nr > COLL_POST_MAX || a->min > a->nr || a->flags || a->reserved)
		return -EINVAL;
	if (!coll_member_is_owner(cf->member))
		return -EPERM;
	if (a->timeout_ns != COLL_COLLECT_FOREVER)
		expires = coll_deadline(a->timeout_ns);
	ret = coll_collect_now(cf, a, &nr);
	while (!ret && nr < a->min && coll_posts_any(&cf->posts)) {
		ret = a->timeout_ns ? coll_collect_wait(cf, a->min - nr, expires) : 1;
		if (!ret)
			ret = coll_collect_now(cf, a, &nr);
	}
	a->timeout_ns = coll_collect_left(expires);
	if (nr || ret > 0)
		return nr;
	return ret;
}

__poll_t coll_posts_poll(struct coll_posts *p, struct file *file, poll_table *wait)
{
	poll_wait(file, &p->wq, wait);
	return READ_ONCE(p->nr_done) ? EPOLLIN | EPOLLRDNORM : 0;
}

bool coll_posts_in_flight(struct coll_posts *p)
{
	bool flying;

	spin_lock(&p->lock);
	flying = p->nr_flying;
	spin_unlock(&p->lock);
	return flying;
}

void coll_posts_release(struct coll_file *cf)
{
	struct coll_posts *p = &cf->posts;
	struct coll_posted *c;

	/* The commands have failed: wait for the present slice, and for links to release pages. */
	wait_event_idle(p->wq, !coll_posts_in_flight(p));
	while ((c = coll_posts_take(p))) {
		if (c->flight.req.slot)
			coll_slot_put(&cf->member->slots, c->flight.req.slot);
		coll_posted_free(c);
		cond_resched();
	}
}

int coll_ioc_post(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_post p;
	int ret;

	ret = copy_struct_from_user(&p, sizeof(p), arg, size);
	return ret ?: coll_post(cf, &p);
}

int coll_ioc_collect(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_collect __user *to = arg;
	struct coll_collect c;
	int ret;

	ret = copy_struct_from_user(&c, sizeof(c), arg, size);
	ret = ret ?: coll_collect(cf, &c);
	/* The call is restarted after the signal, with the time that is left. */
	if (ret == -ERESTARTSYS && put_user(c.timeout_ns, &to->timeout_ns))
		return -EFAULT;
	return ret;
}
