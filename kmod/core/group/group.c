// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/idr.h>
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/utsname.h>

#include "../../pure/wire.h"
#include "../limits.h"
#include "../log.h"
#include "../trace.h"
#include "failure.h"
#include "group.h"
#include "leave.h"
#include "link.h"
#include "member.h"
#include "op_state.h"
#include "parts.h"
#include "ref.h"

/* Jiffies between two looks at the oldest op: at first, and when it has been the same for long. */
#define COLL_STALL_FIRST	msecs_to_jiffies(COLL_STALL_MS)
#define COLL_STALL_REST		HZ

/*
 * Protects coll_groups, coll_groups_by_key and coll_group_serial, and serializes joining and
 * leaving. All users take it: nothing is allocated under it.
 */
static DEFINE_MUTEX(coll_groups_lock);
static struct rb_root coll_groups = RB_ROOT;
static u64 coll_group_serial;
static DEFINE_HASHTABLE(coll_groups_by_key, 10);
static DEFINE_IDA(coll_group_ids);

int coll_group_init(const struct coll_group_part *const *parts)
{
	coll_parts_set(parts);
	if (coll_failure_init())
		return -ENOMEM;
	if (coll_user_init()) {
		coll_failure_exit();
		return -ENOMEM;
	}
	return 0;
}

/*
 * No file is open, and there is no group: each holds a user, which holds the module. A user is freed
 * after its last group.
 */
void coll_group_exit(void)
{
	flush_workqueue(coll_alarm_wq);
	coll_user_exit();
	coll_failure_exit();
	ida_destroy(&coll_group_ids);
}

static void coll_group_free(struct coll_group *g)
{
	coll_parts_free(g);
	ida_free(&coll_group_ids, g->id);
	kvfree(g->links);
	kvfree(g->last_cpus);
	kvfree(g->local_left);
	kvfree(g->members);
	kvfree(g->local_rank);
	kvfree(g->node_of);
	mem_cgroup_put(g->memcg);
	if (g->counted)
		atomic_dec(&g->user->groups);
	if (g->user)
		coll_user_put(g->user);
	kfree_sensitive(g);
}

static void coll_group_stalled(struct work_struct *work)
{
	struct coll_group *g = container_of(to_delayed_work(work),
					    struct coll_group, stall);
	unsigned long delay = COLL_STALL_FIRST;
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
	/* Look rarely, until coll_group_time_next_oldest() reports another oldest op. */
	if (again && op->seq == g->stall_seq && !announce)
		delay = min(2 * g->stall_delay, (unsigned long)COLL_STALL_REST);
	if (again)
		g->stall_seq = op->seq;
	WRITE_ONCE(g->stall_delay, delay);
	spin_unlock(&g->lock);
	if (announce)
		coll_links_call(g);
	if (again)
		queue_delayed_work(coll_alarm_wq, &g->stall, delay);
}

void coll_group_time_oldest(struct coll_group *g)
{
	if (READ_ONCE(g->stall_delay) > COLL_STALL_FIRST)
		coll_group_time_next_oldest(g);
	else
		queue_delayed_work(coll_alarm_wq, &g->stall, COLL_STALL_FIRST);
}

void coll_group_time_next_oldest(struct coll_group *g)
{
	if (READ_ONCE(g->stall_delay) <= COLL_STALL_FIRST)
		return;
	/* Only once: otherwise each op would put the timer off again. */
	WRITE_ONCE(g->stall_delay, COLL_STALL_FIRST);
	mod_delayed_work(coll_alarm_wq, &g->stall, COLL_STALL_FIRST);
}

static struct coll_link *coll_group_nth_link(const struct coll_group *g, u32 i)
{
	return i < g->nr_links * g->nr_nodes ? g->links[i] : NULL;
}

/* Is there a link that must not be closed yet? */
static bool coll_group_lingers(const struct coll_group *g, bool hard)
{
	struct coll_link *link;
	u32 i;

	for (i = 0; i < g->nr_links * g->nr_nodes; i++) {
		link = coll_group_nth_link(g, i);
		if (link && link->ops->lingers(link, hard))
			return true;
	}
	return false;
}

static void coll_group_flush_links(const struct coll_group *g)
{
	struct coll_link *link;
	u32 i;

	for (i = 0; i < g->nr_links * g->nr_nodes; i++) {
		link = coll_group_nth_link(g, i);
		if (link)
			link->ops->flush(link);
	}
}

/*
 * A peer may take as long as dead_after. Many groups of one user may wait for their peers, so
 * a group holds no worker while it waits: the work item queues itself again.
 */
static void coll_group_reap(struct work_struct *work)
{
	struct coll_group *g = container_of(to_delayed_work(work), struct coll_group, reap);
	struct coll_link *link;
	bool hard;
	u32 i;

	/* Peers may still need what was sent before an orderly end. */
	hard = g->error && g->cause.kind != COLL_CAUSE_CLOSE;
	if (!g->reap_delay) {
		cancel_delayed_work_sync(&g->stall);
		coll_parts_quiesce(g);
		coll_group_flush_links(g);
	}
	if (coll_group_lingers(g, hard)) {
		g->reap_delay = clamp(2 * g->reap_delay, 1UL, (unsigned long)COLL_REAP_DELAY_MOST);
		queue_delayed_work(g->user->reap_wq, &g->reap, g->reap_delay);
		return;
	}
	for (i = 0; i < g->nr_links * g->nr_nodes; i++) {
		link = coll_group_nth_link(g, i);
		if (link)
			link->ops->close(link, hard);
	}
	coll_group_free(g);
}

/* Check that every node number is below nr_nodes and in use. Return: number of local ranks. */
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
	if (a->node_of[array_index_nospec(j->rank, j->size)] != j->node)
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

/* Allocate the tables whose size depends on the number of nodes and ranks. */
static int coll_group_alloc_tables(struct coll_group *g)
{
	g->local_rank = kvcalloc(g->nr_local, sizeof(u32), GFP_KERNEL_ACCOUNT);
	g->members = kvcalloc(g->nr_local, sizeof(*g->members), GFP_KERNEL_ACCOUNT);
	g->local_left = kvcalloc(g->nr_local, sizeof(*g->local_left), GFP_KERNEL_ACCOUNT);
	g->last_cpus = kvcalloc(g->nr_local, sizeof(*g->last_cpus), GFP_KERNEL_ACCOUNT);
	g->links = kvcalloc(g->nr_nodes, COLL_MAX_LINKS * sizeof(*g->links),
			    GFP_KERNEL_ACCOUNT);
	g->node_of = kvcalloc(g->size, sizeof(u32), GFP_KERNEL_ACCOUNT);
	if (!g->local_rank || !g->members || !g->local_left || !g->last_cpus || !g->links ||
	    !g->node_of)
		return -ENOMEM;
	return 0;
}

/* Find the user of a new group, with its queues. */
static int coll_group_set_user(struct coll_group *g, kuid_t payer)
{
	struct coll_user *user = coll_user_get(payer);

	if (!user)
		return -ENOMEM;
	g->user = user;
	g->early.user = user;
	return 0;
}

/*
 * No id is given again soon: a reader of a trace, or of several dumps, would take one group for
 * another. Return: an id, or a negative errno.
 */
static int coll_group_new_id(void)
{
	static atomic_t made = ATOMIC_INIT(0);
	int least = atomic_inc_return(&made) & INT_MAX;
	int id = ida_alloc_min(&coll_group_ids, least ?: 1, GFP_KERNEL);

	return id == -ENOSPC ? ida_alloc_min(&coll_group_ids, 1, GFP_KERNEL) : id;
}

/*
 * The name goes to logs and terminals, and the user chooses it in a namespace of its own: only
 * graphic ASCII, as coll_wire_put_abort() sends it to other nodes.
 */
static void coll_group_set_host(struct coll_group *g)
{
	char *c;

	strscpy(g->host, utsname()->nodename, sizeof(g->host));
	for (c = g->host; *c; c++)
		if (!coll_wire_host_byte_ok(*c))
			*c = '?';
}

static struct coll_group *coll_group_alloc(const struct coll_join_args *a, u32 nr_local)
{
	const struct coll_join *j = &a->join;
	struct coll_group *g;
	u32 i, n = 0;
	int ret;

	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&g->plans);
	ret = coll_group_new_id();
	if (ret < 0) {
		kfree(g);
		return ERR_PTR(ret);
	}
	g->id = ret;
	g->memcg = get_mem_cgroup_from_mm(current->mm);
	g->size = j->size;
	g->node = j->node;
	g->nr_nodes = j->nr_nodes;
	g->nr_local = nr_local;
	g->stripes.links = 1;
	ret = coll_group_set_user(g, a->payer) ?: coll_group_alloc_tables(g);
	if (ret) {
		coll_group_free(g);
		return ERR_PTR(ret);
	}
	kref_init(&g->ref);
	spin_lock_init(&g->lock);
	INIT_LIST_HEAD(&g->ops);
	INIT_DELAYED_WORK(&g->reap, coll_group_reap);
	INIT_DELAYED_WORK(&g->stall, coll_group_stalled);
	INIT_WORK(&g->failing, coll_group_failing);
	memcpy(g->key, j->key, sizeof(g->key));
	g->uid = a->uid;
	g->epoch = j->epoch;
	memcpy(g->node_of, a->node_of, array_size(g->size, sizeof(u32)));
	for (i = 0; i < g->size; i++)
		if (g->node_of[i] == g->node)
			g->local_rank[n++] = i;
	g->most_local = coll_most_local(g);
	g->map = coll_wire_map(g->node_of, g->size, j->flags & COLL_JOIN_NAMED);
	g->remote_left.rank = COLL_RANK_NONE;
	g->remote_left.seq = U64_MAX;
	coll_group_set_host(g);
	ret = coll_parts_init(g, j->flags);
	if (ret) {
		coll_group_free(g);
		return ERR_PTR(ret);
	}
	return g;
}

/* There is a group with this key: may the caller join it, and do the parameters agree? */
static int coll_group_fits(const struct coll_group *g,
			   const struct coll_join_args *a)
{
	const struct coll_join *j = &a->join;

	if (!uid_eq(g->uid, a->uid))
		return -EPERM;
	if (g->size != j->size || g->nr_nodes != j->nr_nodes ||
	    g->epoch != j->epoch || !g->tensors != !(j->flags & COLL_JOIN_NAMED) ||
	    memcmp(g->node_of, a->node_of, array_size(g->size, sizeof(u32))))
		return -EINVAL;
	if (g->error || g->nr_left || g->remote_left.seq != U64_MAX)
		return -ESHUTDOWN;
	return 0;
}

/* The seed is random: no user can fill a bucket, which all users that join would walk. */
static u32 coll_group_hash(const u8 *key, u32 node)
{
	static u32 seed __read_mostly;

	get_random_once(&seed, sizeof(seed));
	return jhash_1word(node, jhash(key, COLL_KEY_SIZE, seed));
}

/*
 * Under coll_groups_lock. Return: the group of the key and the node; NULL: there is none; an
 * error: there is one, but the caller cannot join it.
 */
static struct coll_group *coll_group_find_locked(const struct coll_join_args *a)
{
	struct coll_group *g;
	int ret;

	lockdep_assert_held(&coll_groups_lock);
	hash_for_each_possible(coll_groups_by_key, g, by_key,
			       coll_group_hash(a->join.key, a->join.node)) {
		if (g->node != a->join.node || memcmp(g->key, a->join.key, sizeof(g->key)))
			continue;
		ret = coll_group_fits(g, a);
		return ret ? ERR_PTR(ret) : g;
	}
	return NULL;
}

static bool coll_group_is_older(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_group, by_serial)->serial <
	       rb_entry(b, struct coll_group, by_serial)->serial;
}

static u32 coll_local_index(const struct coll_group *g, u32 rank)
{
	u32 i = 0;

	while (g->local_rank[i] != rank)
		i++;
	return i;
}

/* Under coll_groups_lock. @g: may be new; then no other thread knows it yet. */
static int coll_group_enter_locked(struct coll_group *g, struct coll_member *m,
				   const struct coll_join_args *a)
{
	u32 local = coll_local_index(g, a->join.rank);

	lockdep_assert_held(&coll_groups_lock);
	if (g->members[local])
		return -EEXIST;
	if (!g->nr_joined) {
		/* Not earlier: ranks that join at the same time make a group each, and use one. */
		g->counted = coll_user_add_group(g->user);
		if (!g->counted)
			return -EMFILE;
		/* born with one reference */
		g->serial = ++coll_group_serial;
		rb_add(&g->by_serial, &coll_groups, coll_group_is_older);
		hash_add(coll_groups_by_key, &g->by_key, coll_group_hash(g->key, g->node));
	} else {
		coll_group_get(g);
	}
	m->rank = a->join.rank;
	m->local = local;
	spin_lock(&g->lock);
	g->members[local] = m;
	g->nr_joined++;
	g->nr_came++;
	spin_unlock(&g->lock);
	/* pairs with coll_member_group() */
	smp_store_release(&m->group, g);
	return 0;
}

/*
 * Join the group of the key if there is one. Else join *@made if it is not NULL, and set *@made to
 * NULL. Return: 0; -ENOENT if there is no group and *@made is NULL; or as
 * coll_group_enter_locked().
 */
static int coll_group_try_join(struct coll_member *m, const struct coll_join_args *a,
			       struct coll_group **made)
{
	struct coll_group *g;
	int ret;

	mutex_lock(&coll_groups_lock);
	g = coll_group_find_locked(a);
	if (!g)
		g = *made ?: ERR_PTR(-ENOENT);
	ret = IS_ERR(g) ? PTR_ERR(g) : coll_group_enter_locked(g, m, a);
	if (!ret && g == *made)
		*made = NULL;
	mutex_unlock(&coll_groups_lock);
	return ret;
}

int coll_group_join(struct coll_member *m, struct coll_join_args *a)
{
	int nr_local = coll_check_join(a), ret;
	struct coll_group *made = NULL;

	if (nr_local < 0)
		return nr_local;
	ret = coll_group_try_join(m, a, &made);
	if (ret != -ENOENT || a->join.flags & COLL_JOIN_EXISTING)
		return ret;
	/* Without the lock: the control group of the caller may delay allocations. */
	made = coll_group_alloc(a, nr_local);
	if (IS_ERR(made))
		return PTR_ERR(made);
	ret = coll_group_try_join(m, a, &made);
	if (made)
		coll_group_free(made);	/* another rank was faster, or there was an error */
	return ret;
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
	if (!g->nr_joined) {
		rb_erase(&g->by_serial, &coll_groups);
		hash_del(&g->by_key);
	}
	mutex_unlock(&coll_groups_lock);
	coll_group_put(g);
}

/* Under coll_groups_lock. All users wait for it: the search is short even if groups are many. */
static struct coll_group *coll_groups_from_locked(u64 serial)
{
	struct rb_node *node = coll_groups.rb_node;
	struct coll_group *g, *found = NULL;

	lockdep_assert_held(&coll_groups_lock);
	while (node) {
		g = rb_entry(node, struct coll_group, by_serial);
		if (g->serial >= serial)
			found = g;
		node = g->serial >= serial ? node->rb_left : node->rb_right;
	}
	return found;
}

/* The first group from @serial on, but before @end, that is still there, with a reference. */
static struct coll_group *coll_groups_next(u64 serial, u64 end)
{
	struct coll_group *g;

	mutex_lock(&coll_groups_lock);
	g = coll_groups_from_locked(serial);
	if (g && g->serial < end)
		coll_group_get(g);
	else
		g = NULL;
	mutex_unlock(&coll_groups_lock);
	return g;
}

u64 coll_groups_end(void)
{
	u64 end;

	mutex_lock(&coll_groups_lock);
	end = coll_group_serial + 1;
	mutex_unlock(&coll_groups_lock);
	return end;
}

int coll_groups_for_each(u64 serial, u64 end, bool locked,
			 int (*fn)(struct coll_group *g, void *arg), void *arg)
{
	struct coll_group *g;
	int ret = 0;

	while (!ret && (g = coll_groups_next(serial, end))) {
		if (locked)
			mutex_lock(&coll_groups_lock);
		ret = fn(g, arg);
		if (locked)
			mutex_unlock(&coll_groups_lock);
		serial = g->serial + 1;
		coll_group_put(g);
		cond_resched();
	}
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
		coll_log_ratelimited(pr_info, "coll: group %u: RLIMIT_MEMLOCK is too low: pages are pinned one by one, which is slow; %llu bytes would be enough\n",
				     g->id, wanted);
}
