/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocking calls: what is in flight for a COLL_IOC_SUBMIT, and how long that lives.
 *
 * A signal that is not fatal takes the thread out of the call: to stop, to be frozen or
 * traced, to run a handler, or to do task work. The command stays in flight and is parked;
 * the call returns -ERESTARTNOINTR, so that the kernel has the thread call again afterwards.
 * That call finds the command by thread, file, stack pointer, address and bytes of the
 * command, and goes on to wait for it. A call from a handler has another stack pointer.
 *
 * A thread may never come back: it was killed, or a handler jumped elsewhere. Then the
 * command goes on nevertheless, since other ranks need it. It is freed with the file, even if
 * its result has not been fetched.
 *
 * A call of COLL_IOC_COLLECT that waits is a call here, too, so that its reference to the file
 * counts. It has no command, and is never parked.
 */
#ifndef COLL_FRONT_CALLS_H
#define COLL_FRONT_CALLS_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/coll.h>

#include "../core/exec/sleeper.h"
#include "../core/group/link.h"
#include "../core/op/op.h"

struct coll_file;
struct task_struct;

/**
 * struct coll_call - a blocking call
 * @list: in cf->calls or cf->parked; cf->lock
 * @cf: file
 * @files: table of descriptors of the caller; to compare
 * @counted: its reference to the file counts as a command's; cf->lock
 * @stood_in: @stand_in has been used
 * @task: of a parked one: its thread, with a reference; NULL: it has never been parked
 * @arg: of a parked one: argument of the ioctl
 * @sp: of a parked one: user stack pointer
 * @len: of a parked one: size of the command
 * @cmd: of a parked one: what was at @arg
 * @stand_in: helps in the place of the caller while that is away
 * @req: from here on zeroed for each call; the request
 * @watcher: attends to links
 * @sleeper: where the caller sleeps
 * @spin_us: how long to stay awake
 * @yields: how often the caller may yield the CPU
 * @helped: the caller has done slices
 * @done: @result is set; under sleeper.wq.lock, so that the waker is done with this struct
 * @result: of the request
 *
 * Owner: the file, from coll_call_begin() to coll_call_end() or coll_calls_release().
 */
struct coll_call {
	struct list_head list;
	struct coll_file *cf;
	fl_owner_t files;
	bool counted;
	bool stood_in;
	struct task_struct *task;
	u64 arg;
	unsigned long sp;
	u32 len;
	struct coll_cmd cmd;
	struct work_struct stand_in;

	struct coll_req req;
	struct coll_watcher watcher;
	struct coll_sleeper sleeper;
	u32 spin_us;
	u32 yields;
	bool helped;
	bool done;
	int result;
};

/**
 * coll_call_begin() - a call enters
 * @cf: file
 *
 * Return: the call, of which @req to @result are zero; NULL: no memory.
 */
struct coll_call *coll_call_begin(struct coll_file *cf);

/* The call is over, or nothing was posted: @call is gone. Sleeps. */
void coll_call_end(struct coll_call *call);

/* Has the request been completed, and is the thread that did so done with it? */
bool coll_call_is_done(struct coll_call *call);

/**
 * coll_call_park() - the caller has to go, the command stays in flight
 * @call: call; may be done meanwhile
 * @arg: argument of the ioctl
 * @len: its size
 *
 * The caller has left links and sleeper. From here on @call is not the caller's any more.
 */
void coll_call_park(struct coll_call *call, u64 arg, u32 len);

/**
 * coll_call_resume() - does a call go on that was parked?
 * @cf: file
 * @arg: argument of the ioctl
 * @len: its size
 *
 * Return: the call, which is the caller's again; NULL: it is a new one.
 */
struct coll_call *coll_call_resume(struct coll_file *cf, u64 arg, u32 len);

/* Is there a caller in any call? A parked one counts by its command only. */
bool coll_calls_running(struct coll_file *cf);

/**
 * coll_calls_closed() - a descriptor is being closed
 * @cf: file
 * @files: table it was in
 *
 * Callers who share this table hold a reference of their own to the file, for somebody else
 * closes: these references count as those of commands from now on.
 */
void coll_calls_closed(struct coll_file *cf, fl_owner_t files);

/* Is a parked command still in flight? The file has been released. */
bool coll_calls_in_flight(struct coll_file *cf);

/* Wait until no parked command is in flight, and free all. The file has been released. */
void coll_calls_release(struct coll_file *cf);

#endif /* COLL_FRONT_CALLS_H */
