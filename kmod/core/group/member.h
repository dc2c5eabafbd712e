/* SPDX-License-Identifier: GPL-2.0 */
/* Members: one open file, one rank. */
#ifndef COLL_CORE_MEMBER_H
#define COLL_CORE_MEMBER_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <linux/coll.h>

#include "../mem/buf.h"
#include "../mem/pins.h"
#include "../mem/slot.h"

struct coll_group;
struct coll_op;
struct coll_proxy;
struct coll_tensor_req;
struct coll_tensors_waiter;
struct task_struct;

/**
 * struct coll_member_tensors - named collectives of a member; group->lock
 * @waiting: posted and not started
 * @gathered: started, and in a fusion that has not been posted yet
 * @join: the pending join of the rank, until all ranks have joined. Counts in @waiting.
 * @stand_ins: requests that stand in for the rank and have not ended. They count in @open.
 * @joined: the join, if all ranks have joined and @stand_ins is not 0; it ends after these
 * @open: posted, and their buffers are in use; includes stand-ins
 * @kept: posted and not collected
 * @refused: members of groups that could not be posted, and whose rounds have not ended
 * @groups: those that have not started and belong to groups, by digest
 * @calls: struct coll_tensor_group of calls that are posting
 * @nr_calls: number of calls that have posted
 * @done: those that are to be collected
 * @nr_done: number of @done
 * @waiters: number of waits for results, by threads and by io_uring
 * @least: number of results that is enough for one of these waits, or less; while a fusion runs,
 *	fewer results wake nobody
 * @waiter: one of these waits; NULL: none
 * @wq: a thread that collects sleeps here
 * @awaits: waits of io_uring; no thread sleeps here
 * @nr_awaits: number of @awaits, at most COLL_AWAITS_MAX; atomic
 */
struct coll_member_tensors {
	u32 waiting;
	u32 gathered;
	struct coll_tensor_req *join;
	u32 stand_ins;
	struct coll_tensor_req *joined;
	u32 open;
	u32 kept;
	u32 refused;
	struct rb_root groups;
	struct rb_root calls;
	u64 nr_calls;
	struct list_head done;
	u32 nr_done;
	u32 waiters;
	u32 least;
	struct coll_tensors_waiter *waiter;
	wait_queue_head_t wq;
	wait_queue_head_t awaits;
	atomic_t nr_awaits;
};

/**
 * struct coll_member - an open file of /dev/coll
 * @ml: credentials and address space of the process that opened the file
 * @owner: thread group leader of that process at the time of the open; with a reference
 * @tgid: pid of that process, in the initial pid namespace
 * @setup: serializes setup verbs
 * @group: NULL until joined; set once under @setup, read with
 *	smp_load_acquire() by coll_member_group(). The member's reference.
 * @rank: valid with @group
 * @local: index among the node's ranks
 * @posted: ops posted; group->lock
 * @completed: posted ops that have ended; group->lock
 * @last: the op posted last, if it has not ended; group->lock
 * @bytes: payload of the ops that ended well; group->lock
 * @in_flight: bytes of the vectors of its collectives in flight
 * @call_ns: nanoseconds in its system calls and its progress thread; see account.h
 * @shm_sleepers: its threads in coll_shm_wait(); group->lock
 * @shm_waits: position that the latest of them sleeps for; 0: none; group->lock
 * @proxy: its request that another rank posts, see proxy.h; NULL: none. Written under group->lock
 * @node_ops: ops that one rank has posted for all ranks of the node; group->lock
 * @talking: messages posted that are not over; group->lock
 * @messages: messages posted; group->lock
 * @handles: messages in flight that have a handle, by handle; group->lock
 * @tensors: named collectives
 * @pins: plain buffers that stay pinned
 * @slots: room for small vectors
 * @no_yields: number of blocking calls that must not yield() their CPU. A hint, which the
 *	threads of the rank change by READ_ONCE() and WRITE_ONCE().
 * @bufs: registered buffers by id; its own lock
 * @pinned: bytes they pin; @setup
 * @left: has been entered in group->local_left; group->lock
 * @gone: bit 0: the end of the process has been reported; the first thread that sets it reports
 */
struct coll_member {
	struct coll_memlock ml;
	struct task_struct *owner;
	pid_t tgid;
	struct mutex setup;
	struct coll_group *group;
	u32 rank;
	u32 local;
	u64 posted;
	u64 completed;
	struct coll_op *last;
	u64 bytes;
	atomic64_t in_flight;
	atomic64_t call_ns;
	u32 shm_sleepers;
	u64 shm_waits;
	struct coll_proxy *proxy;
	u64 node_ops;
	u32 talking;
	u64 messages;
	struct rb_root handles;
	struct coll_member_tensors tensors;
	struct coll_pins pins;
	struct coll_slots slots;
	u32 no_yields;
	struct xarray bufs;
	u64 pinned;
	bool left;
	unsigned long gone;
};

/**
 * coll_member_open() - a member for the calling process
 *
 * Return: the member, owned by the file; -ENOMEM, -EINVAL for a kernel thread.
 */
struct coll_member *coll_member_open(void);

/**
 * coll_member_release() - the file goes; nothing of it is in flight
 *
 * Leaves the group and frees everything. Sleeps.
 */
void coll_member_release(struct coll_member *m);

/* The group that the member has joined, or NULL. Valid while the file is open. */
static inline struct coll_group *coll_member_group(struct coll_member *m)
{
	/* pairs with the store in coll_group_join() */
	return smp_load_acquire(&m->group);
}

/* Commands in flight. Under group->lock. */
static inline u64 coll_member_inflight(const struct coll_member *m)
{
	return m->posted - m->completed + m->talking + m->tensors.waiting + m->tensors.gathered;
}

/* Does the member have commands in flight, or threads that sleep in coll_shm_wait()? */
bool coll_member_busy(struct coll_member *m);

/**
 * coll_member_is_owner() - may the current task act through this file?
 *
 * Only the address space that opened the file may: a forked child or the receiver of
 * a passed fd may not. Does not depend on capabilities, so it works for SQPOLL threads.
 */
bool coll_member_is_owner(const struct coll_member *m);

/* Is the current task a thread of the process that opened the file? */
bool coll_member_is_mine(const struct coll_member *m);

/**
 * coll_member_gone() - the process is ending, or its file or its ring has been closed
 * @m: member
 * @kind: COLL_CAUSE_EXIT, _CLOSE or _CANCEL
 *
 * If an op or a message of the rank is pending, or the process ends by a signal or with a non-zero
 * status before the rank has left, the group fails at once. Otherwise, with COLL_CAUSE_EXIT, the
 * rank has left after its last op. Any process context. May be called often; only the first call
 * has an effect. kmod/front/end.c calls it, and coll_refused() when a command is refused.
 */
void coll_member_gone(struct coll_member *m, u32 kind);

/**
 * coll_member_gone_soon() - as coll_member_gone(), for a caller that must not wait
 * @m: member
 * @kind: COLL_CAUSE_EXIT or _CLOSE
 *
 * A work item ends what is in flight.
 *
 * Return: true: the rank has left after its last op. The caller has to call coll_member_left() from
 * a work item of group->user->end_wq. That call takes long if there are many messages.
 */
bool coll_member_gone_soon(struct coll_member *m, u32 kind);

/**
 * coll_member_left() - this member has ended after its last op, and in good order
 * @m: member
 *
 * coll_member_gone_soon() has returned true. This is not checked again: the process may have
 * executed another program meanwhile, whose end must not fail the group.
 */
void coll_member_left(struct coll_member *m);

/**
 * coll_group_no_memory() - fail the communicator: there is no memory here, or a buffer has gone
 * @g: group
 * @err: -ENOMEM, -EFAULT or -ENOSPC
 * @seq: the op that fails; 0: none
 *
 * A thread that the OOM killer has chosen gets no memory. If it is a thread of a rank, the cause is
 * the death of that rank, which is the first thing that users have to know. Process context.
 */
void coll_group_no_memory(struct coll_group *g, int err, u64 seq);

/* Registered buffers: see COLL_IOC_REGISTER and COLL_IOC_UNREGISTER. */
int coll_member_register(struct coll_member *m, struct coll_register *r);
int coll_member_unregister(struct coll_member *m, u32 id);

/*
 * Unregister all buffers of a process that has ended. A child may keep its file open. Ops in flight
 * have references of their own. Nothing registers or submits meanwhile. Sleeps.
 */
void coll_member_unregister_all(struct coll_member *m);

/**
 * coll_member_vec() - a vector in a registered buffer
 * @m: member
 * @id: from the user
 * @addr: first byte
 * @len: bytes, not 0
 * @write: will be written
 * @v: result; the buffer is referenced
 *
 * Return: 0; -ENOENT if there is no such buffer; -EFAULT if the vector is not inside of it, or it
 * is not registered for writing.
 */
int coll_member_vec(struct coll_member *m, u32 id, u64 addr, u64 len,
		    bool write, struct coll_vec *v);

#endif /* COLL_CORE_MEMBER_H */
