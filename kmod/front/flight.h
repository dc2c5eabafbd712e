/* SPDX-License-Identifier: GPL-2.0 */
/* Nonblocking commands: the common part of those of io_uring and those of COLL_IOC_POST. */
#ifndef COLL_FRONT_FLIGHT_H
#define COLL_FRONT_FLIGHT_H

#include <linux/types.h>

#include "../core/op/op.h"

struct coll_file;
struct coll_fixed;
struct coll_progress;

/**
 * struct coll_flight - a nonblocking command
 * @req: the request
 * @cf: file it was submitted to
 * @progress: its progress thread; NULL: none
 * @result: of the request; set before @landed is called
 * @landed: called exactly once for a command that was posted, in process context, when
 *	nothing touches its pages any more. May free it. User space gets the value that
 *	coll_deliver() returns for @result.
 *
 * Owner: the submitter, until it is posted; then core, until @landed.
 */
struct coll_flight {
	struct coll_req req;
	struct coll_file *cf;
	struct coll_progress *progress;
	int result;
	void (*landed)(struct coll_flight *f);
};

/**
 * coll_flight_decode() - copy in, check and pin a command
 * @f: zeroed, except @landed
 * @cf: file
 * @arg: user address of the command
 * @len: its size
 * @fixed: as coll_decode()
 *
 * Return: 0: call coll_flight_post() next; else as coll_decode().
 */
int coll_flight_decode(struct coll_flight *f, struct coll_file *cf, u64 arg, u32 len,
		       const struct coll_fixed *fixed);

/**
 * coll_flight_post() - post a command that has been decoded
 * @f: command
 *
 * Return: 0: @f->landed will be called, or has been: @f may be gone. Negative: it will not be
 * called, and the buffers of the command have been released.
 */
int coll_flight_post(struct coll_flight *f);

#endif /* COLL_FRONT_FLIGHT_H */
