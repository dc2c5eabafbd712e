// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/cred.h>
#include <linux/idr.h>
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/nospec.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/utsname.h>

#include "exec.h"
#include "group.h"
#include "limits.h"
#include "link.h"
#include "member.h"
#include "msg.h"
#include "op.h"
#include "select.h"
#include "trace.h"

/* Protects coll_groups, and makes joining and leaving one at a time. */
static DEFINE_MUTEX(coll_groups_lock);
static LIST_HEAD(coll_groups);
static DEFINE_IDA(coll_group_ids);

struct workqueue_struct *coll_wq;
struct workqueue_struct *coll_reap_wq;

int coll_group_init(void)
{
	/*
	 * In sysfs, so that an administrator may keep workers off some CPUs. As nice as
	 * anybody: a worker that is woken by a rank would not let it go on otherwise, as
	 * long as the op takes, and nothing could be hidden behind what the rank does.
	 */
	coll_wq = alloc_workqueue("coll", WQ_UNBOUND | WQ_SYSFS, 0);
	if (!coll_wq)
		return -ENOMEM;
	coll_reap_wq = alloc_workqueue("coll_reap", WQ_UNBOUND, 0);
	if (!coll_reap_wq) {
		destroy_workqueue(coll_wq);
		return -ENOMEM;
	}
	return 0;
}

/*
 * No file is open: but a worker may still have to put the last reference of a
 * group, which then has to be reaped, for which links run their work once more.
 */
void coll_group_exit(void)
{
	flush_workqueue(coll_wq);
	destroy_workqueue(coll_reap_wq);
	destroy_workqueue(coll_wq);
	ida_destroy(&coll_group_ids);
}

static void coll_group_free(struct coll_group *g)
{
	ida_free(&coll_group_ids, g->id);
	coll_select_free(g);
	coll_op_discard(g->spare);
	coll_plans_free(g);
	coll_msgs_free(g);
	kvfree(g->links);
	kvfree(g->turns);
	kvfree(g->local_left);
	kvfree(g->members);
	kvfree(g->local_rank);
	kvfree(g->node_of);
	mem_cgroup_put(g->memcg);
	kfree_sensitive(g);
}

static void coll_group_stalled(struct work_struct *work)
{
	struct coll_group *g = container_of(to_delayed_work(work),
					    struct coll_group, stall);
	const struct coll_op *op;
	bool announce = false;
	bool again;

	spin_lock(&g->lock);
	op = coll_op_oldest(g);
	again = op && !g->error;
	if (again && op->seq == g->stall_seq && g->announced_seq != g->stall_seq) {
		g->announced_sig = op->sig;
		WRITE_ONCE(g->announced_seq, op->seq);
		announce = true;
	}
	if (again)
		g->stall_seq = op->seq;
	spin_unlock(&g->lock);
	if (announce)
		coll_links_call(g);
	if (again)
		coll_group_watch(g);
}

void coll_group_watch(struct coll_group *g)
{
	queue_delayed_work(coll_wq, &g->stall, msecs_to_jiffies(COLL_STALL_MS));
}

static void coll_group_reap(struct work_struct *work)
{
	struct coll_group *g = container_of(work, struct coll_group, reap);
	bool hard;
	u32 i;

	cancel_delayed_work_sync(&g->stall);
	/* Peers may still need what was sent before an orderly end. */
	hard = g->error && g->cause.kind != COLL_CAUSE_CLOSE;
	g->reaped = jiffies;
	for (i = 0; i < g->nr_links * g->nr_nodes; i++)
		if (g->links[i])
			g->links[i]->ops->close(g->links[i], hard);
	coll_group_free(g);
}

static void coll_group_release(struct kref *ref)
{
	struct coll_group *g = container_of(ref, struct coll_group, ref);

	/* The caller may be a link's work, which the reaper has to wait for. */
	queue_work(coll_reap_wq, &g->reap);
}

void coll_group_get(struct coll_group *g)
{
	kref_get(&g->ref);
}

void coll_group_put(struct coll_group *g)
{
	kref_put(&g->ref, coll_group_release);
}

/* Every node number is below nr_nodes and in use. Return: local ranks. */
static int coll_check_nodes(const struct coll_join_args *a)
{
	DECLARE_BITMAP(used, COLL_MAX_SIZE) = { };
	const struct coll_join *j = &a->join;
	u32 local = 0;
	u32 i;

	for (i = 0; i < j->size; i++) {
		if (a->node_of[i] >= j->nr_nodes)
			return -EINVAL;
		__set_bit(array_index_nospec(a->node_of[i], j->nr_nodes), used);
		if (a->node_of[i] == j->node)
			local++;
	}
	return bitmap_full(used, j->nr_nodes) ? local : -EINVAL;
}

static int coll_check_join(const struct coll_join_args *a)
{
	const struct coll_join *j = &a->join;

	if (!j->size || j->size > COLL_MAX_SIZE || j->rank >= j->size)
		return -EINVAL;
	if (!j->nr_nodes || j->nr_nodes > j->size || j->node >= j->nr_nodes)
		return -EINVAL;
	if (a->node_of[j->rank] != j->node)
		return -EINVAL;
	return coll_check_nodes(a);
}

static u32 coll_most_local(const struct coll_group *g)
{
	u32 node, i, n, most = 0;

	for (node = 0; node < g->nr_nodes; node++) {
		for (i = 0, n = 0; i < g->size; i++)
			n += g->node_of[i] == node;
		most = max(most, n);
	}
	return most;
}

static struct coll_group *coll_group_alloc(struct coll_join_args *a, u32 nr_local)
{
	const struct coll_join *j = &a->join;
	struct coll_group *g;
	u32 i, n = 0;
	int id;

	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return NULL;
	INIT_LIST_HEAD(&g->plans);
	id = ida_alloc_min(&coll_group_ids, 1, GFP_KERNEL);
	if (id < 0) {
		kfree(g);
		return NULL;
	}
	g->id = id;
	g->memcg = get_mem_cgroup_from_mm(current->mm);
	g->size = j->size;
	g->node = j->node;
	g->nr_nodes = j->nr_nodes;
	g->nr_local = nr_local;
	g->local_rank = kvcalloc(nr_local, sizeof(u32), GFP_KERNEL_ACCOUNT);
	g->members = kvcalloc(nr_local, sizeof(*g->members), GFP_KERNEL_ACCOUNT);
	g->local_left = kvcalloc(nr_local, sizeof(*g->local_left), GFP_KERNEL_ACCOUNT);
	g->turns = kvcalloc(nr_local, sizeof(*g->turns), GFP_KERNEL_ACCOUNT);
	g->stripes.links = 1;
	g->links = kvcalloc(j->nr_nodes, COLL_MAX_LINKS * sizeof(*g->links),
			    GFP_KERNEL_ACCOUNT);
	if (!g->local_rank || !g->members || !g->local_left || !g->turns || !g->links ||
	    coll_msgs_init(g)) {
		coll_group_free(g);
		return NULL;
	}
	kref_init(&g->ref);
	spin_lock_init(&g->lock);
	INIT_LIST_HEAD(&g->ops);
	INIT_WORK(&g->reap, coll_group_reap);
	INIT_DELAYED_WORK(&g->stall, coll_group_stalled);
	memcpy(g->key, j->key, sizeof(g->key));
	g->uid = a->uid;
	g->epoch = j->epoch;
	g->node_of = a->node_of;
	a->node_of = NULL;
	for (i = 0; i < g->size; i++)
		if (g->node_of[i] == g->node)
			g->local_rank[n++] = i;
	g->most_local = coll_most_local(g);
	g->remote_left.seq = U64_MAX;
	strscpy(g->host, utsname()->nodename, sizeof(g->host));
	return g;
}

/* A group of the same name is there: is it the one that is meant? */
static int coll_group_fits(const struct coll_group *g,
			   const struct coll_join_args *a)
{
	const struct coll_join *j = &a->join;

	if (!uid_eq(g->uid, a->uid))
		return -EPERM;
	if (g->size != j->size || g->nr_nodes != j->nr_nodes ||
	    g->epoch != j->epoch ||
	    memcmp(g->node_of, a->node_of, array_size(g->size, sizeof(u32))))
		return -EINVAL;
	if (g->error || g->nr_left || g->remote_left.seq != U64_MAX)
		return -ESHUTDOWN;
	return 0;
}

/* Find or make the group. Under coll_groups_lock. */
static struct coll_group *coll_group_lookup(struct coll_join_args *a, u32 nr_local)
{
	struct coll_group *g;
	u32 owned = 0;
	int ret;

	list_for_each_entry(g, &coll_groups, list) {
		if (g->node == a->join.node &&
		    !memcmp(g->key, a->join.key, sizeof(g->key))) {
			ret = coll_group_fits(g, a);
			return ret ? ERR_PTR(ret) : g;
		}
		if (uid_eq(g->uid, a->uid))
			owned++;
	}
	if (a->join.flags & COLL_JOIN_EXISTING)
		return ERR_PTR(-ENOENT);
	if (owned >= COLL_MAX_GROUPS_PER_UID)
		return ERR_PTR(-EMFILE);
	g = coll_group_alloc(a, nr_local);
	return g ?: ERR_PTR(-ENOMEM);
}

static u32 coll_local_index(const struct coll_group *g, u32 rank)
{
	u32 i = 0;

	while (g->local_rank[i] != rank)
		i++;
	return i;
}

int coll_group_join(struct coll_member *m, struct coll_join_args *a)
{
	int nr_local = coll_check_join(a);
	struct coll_group *g;
	u32 local;
	int ret = 0;

	if (nr_local < 0)
		return nr_local;

	mutex_lock(&coll_groups_lock);
	g = coll_group_lookup(a, nr_local);
	if (IS_ERR(g)) {
		ret = PTR_ERR(g);
		goto unlock;
	}
	local = coll_local_index(g, a->join.rank);
	if (g->members[local]) {
		ret = -EEXIST;
		goto unlock;
	}
	if (!g->nr_joined)
		list_add_tail(&g->list, &coll_groups);	/* born with one reference */
	else
		coll_group_get(g);
	m->rank = a->join.rank;
	m->local = local;
	spin_lock(&g->lock);
	g->members[local] = m;
	g->nr_joined++;
	spin_unlock(&g->lock);
	/* pairs with coll_member_group() */
	smp_store_release(&m->group, g);
unlock:
	mutex_unlock(&coll_groups_lock);
	return ret;
}

/* The first op that who has posted up to @seq has not; 0: none. Under group->lock. */
static u64 coll_first_op_beyond(const struct coll_group *g, u64 seq)
{
	const struct coll_op *op;

	list_for_each_entry(op, &g->ops, list)
		if (op->seq > seq)
			return op->seq;
	return 0;
}

/*
 * What is posted already needs a rank that has left: op @beyond, or a message, which waits
 * for nothing else.
 */
static void coll_group_misses(struct coll_group *g, u32 rank, u32 pid, u64 beyond, bool message)
{
	struct coll_cause cause;

	coll_group_cause(g, &cause, COLL_CAUSE_CLOSE, EHOSTDOWN, rank, message ? 0 : beyond);
	cause.pid = pid;
	if (message)
		coll_group_fail(g, &cause);
	else
		coll_group_doom(g, &cause);
}

void coll_group_left(struct coll_member *m)
{
	struct coll_group *g = m->group;
	bool message;
	u64 beyond;

	spin_lock(&g->lock);
	if (m->left) {
		spin_unlock(&g->lock);
		return;
	}
	m->left = true;
	g->local_left[g->nr_left].rank = m->rank;
	g->local_left[g->nr_left].seq = m->posted;
	WRITE_ONCE(g->nr_left, g->nr_left + 1);
	beyond = coll_first_op_beyond(g, m->posted);
	message = coll_msgs_left(g, m->rank);
	spin_unlock(&g->lock);

	if (beyond || message)
		coll_group_misses(g, m->rank, m->tgid, beyond, message);
	else
		coll_links_call(g);	/* BYE */
}

void coll_group_leave(struct coll_member *m)
{
	struct coll_group *g = m->group;

	coll_group_left(m);
	mutex_lock(&coll_groups_lock);
	spin_lock(&g->lock);
	g->members[m->local] = NULL;
	g->nr_joined--;
	spin_unlock(&g->lock);
	if (!g->nr_joined)
		list_del(&g->list);
	mutex_unlock(&coll_groups_lock);
	coll_group_put(g);
}

void coll_group_cause(const struct coll_group *g, struct coll_cause *c,
		      u32 kind, int error, u32 rank, u64 seq)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->error = error;
	c->rank = rank;
	c->node = rank < g->size ? g->node_of[rank] : COLL_RANK_NONE;
	c->seq = seq;
	if (c->node == g->node)
		strscpy(c->host, g->host, sizeof(c->host));
}

/* Fix the result of every posted op; each ends when its last use goes. */
static void coll_group_end_ops(struct coll_group *g)
{
	struct coll_op *op;
	bool found;

	do {
		found = false;
		spin_lock(&g->lock);
		list_for_each_entry(op, &g->ops, list) {
			found = coll_op_end(op, -g->error);
			if (found)
				break;
		}
		spin_unlock(&g->lock);
		if (found)
			coll_op_put_use(op);
	} while (found);
}

void coll_group_fail(struct coll_group *g, const struct coll_cause *cause)
{
	/*
	 * Ending ops may drop the last reference but ours. If there is none,
	 * the group is being reaped and a link's last work has found something
	 * wrong: nobody is left to hear of it.
	 */
	if (!kref_get_unless_zero(&g->ref))
		return;
	spin_lock(&g->lock);
	if (g->error) {
		spin_unlock(&g->lock);
		coll_group_put(g);
		return;
	}
	g->cause = *cause;
	WRITE_ONCE(g->error, cause->error);
	spin_unlock(&g->lock);

	trace_coll_abort(g->id, cause->seq, cause->kind, cause->error, cause->rank);
	coll_links_call(g);	/* ABORT goes first, our own ops after */
	coll_group_end_ops(g);
	coll_msgs_fail(g);
	coll_group_put(g);
}

void coll_group_check_doom(struct coll_group *g)
{
	struct coll_cause cause;
	struct coll_op *op;
	bool due;

	spin_lock(&g->lock);
	op = list_first_entry_or_null(&g->ops, struct coll_op, list);
	due = g->doom.kind && !g->error && (!op || op->seq >= g->doom.seq);
	if (due)
		cause = g->doom;
	spin_unlock(&g->lock);
	if (due)
		coll_group_fail(g, &cause);
}

void coll_group_doom_locked(struct coll_group *g, const struct coll_cause *cause)
{
	lockdep_assert_held(&g->lock);
	if (!g->doom.kind || cause->seq < g->doom.seq)
		g->doom = *cause;
}

void coll_group_doom(struct coll_group *g, const struct coll_cause *cause)
{
	spin_lock(&g->lock);
	coll_group_doom_locked(g, cause);
	spin_unlock(&g->lock);
	coll_group_check_doom(g);
}

void coll_group_remote_bye(struct coll_group *g, u32 rank, u64 seq)
{
	bool message;
	u64 beyond;

	spin_lock(&g->lock);
	if (seq < g->remote_left.seq) {
		g->remote_left.rank = rank;
		g->remote_left.seq = seq;
	}
	beyond = coll_first_op_beyond(g, seq);
	message = coll_msgs_left(g, rank);
	spin_unlock(&g->lock);
	if (beyond || message)
		coll_group_misses(g, rank, 0, beyond, message);
}

int coll_groups_for_each(int (*fn)(struct coll_group *g, void *arg), void *arg)
{
	struct coll_group *g;
	int ret = 0;

	mutex_lock(&coll_groups_lock);
	list_for_each_entry(g, &coll_groups, list) {
		ret = fn(g, arg);
		if (ret)
			break;
	}
	mutex_unlock(&coll_groups_lock);
	return ret;
}

void coll_group_note_memlock(struct coll_group *g, u64 wanted)
{
	bool first;

	spin_lock(&g->lock);
	first = !g->memlock_wanted;
	g->memlock_wanted = max(g->memlock_wanted, wanted);
	spin_unlock(&g->lock);
	if (first)
		pr_info_ratelimited("coll: group %u: RLIMIT_MEMLOCK is too low to pin buffers whole, %llu bytes would do\n",
				    g->id, wanted);
}
