/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocking calls: the command in flight of a COLL_IOC_SUBMIT, and its lifetime.
 *
 * A signal that is not fatal takes the thread out of the call: to stop, to be frozen or
 * traced, to run a handler, or to do task work. The command stays in flight and is parked;
 * the call returns -ERESTARTNOINTR, so that the kernel makes the thread call again afterwards.
 * That call finds the command by thread, file, stack pointer, address and bytes of the
 * command, and goes on to wait for it. A call from a handler has another stack pointer.
 *
 * A thread may never come back: it was killed, or a handler jumped elsewhere. Then the
 * command goes on nevertheless, since other ranks need it. It is freed with the file, even if
 * its result has not been fetched; or earlier, if its thread has ended, or has parked many more
 * calls.
 *
 * A call of COLL_IOC_COLLECT or COLL_IOC_TENSOR_WAIT that waits is a call here, too, so that its
 * reference to the file counts. It has no command, and is never parked.
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
 * @files: table of descriptors of the caller; only compared
 * @counted: its reference to the file counts as a command's; cf->lock
 * @stood_in: @stand_in has been used
 * @task: of a parked call: its thread, with a reference; NULL: it has never been parked
 * @arg: of a parked call: argument of the ioctl
 * @sp: of a parked call: user stack pointer
 * @len: of a parked call: size of the command
 * @cmd: of a parked call: copy of the command at @arg
 * @stand_in: helps in place of the caller while the caller is away
 * @req: the request; from here on the fields are zeroed for each call
 * @watcher: attends to links
 * @sleeper: where the caller sleeps
 * @spin_us: how long to stay awake
 * @yields: how often the caller may yield the CPU
 * @helped: the caller has done slices
 * @done: @result is set; under sleeper.wq.lock: a thread that has read it with the lock knows that
 *	the waker does not use this struct any more
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
 * coll_call_begin() - a thread enters a call
 * @cf: file
 *
 * Return: the call, of which @req to @result are zero; NULL: no memory.
 */
struct coll_call *coll_call_begin(struct coll_file *cf);

/* End a call that is over, or that has posted nothing. @call must not be used any more. Sleeps. */
void coll_call_end(struct coll_call *call);

/* Has the request been completed? Then the thread that did so does not use @call any more. */
bool coll_call_is_done(struct coll_call *call);

/**
 * coll_call_park() - the caller has to go, the command stays in flight
 * @call: call; may have ended meanwhile
 * @arg: argument of the ioctl
 * @len: size of the command
 *
 * The caller has left links and sleeper. From here on @call is not the caller's any more.
 */
void coll_call_park(struct coll_call *call, u64 arg, u32 len);

/**
 * coll_call_resume() - find the parked call that the calling thread goes on with
 * @cf: file
 * @arg: argument of the ioctl
 * @len: size of the command
 *
 * Return: the call, which belongs to the caller again; NULL: this is a new call; -ENOMEM: the
 * thread, or all threads together, have jumped out of too many calls whose ops are in flight.
 */
struct coll_call *coll_call_resume(struct coll_file *cf, u64 arg, u32 len);

/* Is a thread in any call? A parked call has none. */
bool coll_calls_running(struct coll_file *cf);

/**
 * coll_calls_closed() - a descriptor is being closed
 * @cf: file
 * @files: table it was in
 *
 * Another thread closes it, so callers that use this table still hold references of their own to
 * the file. From now on these references count as those of commands.
 */
void coll_calls_closed(struct coll_file *cf, fl_owner_t files);

/* Is a parked command still in flight? The file has been released. */
bool coll_calls_in_flight(struct coll_file *cf);

/* Wait until no parked command is in flight, and free all calls. The file has been released. */
void coll_calls_release(struct coll_file *cf);

#endif /* COLL_FRONT_CALLS_H */
