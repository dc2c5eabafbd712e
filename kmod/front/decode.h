/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Convert bytes of user space to a checked request, and give its result back to user space. Both
 * are the same for ioctl and io_uring.
 */
#ifndef COLL_FRONT_DECODE_H
#define COLL_FRONT_DECODE_H

/* First published size of struct coll_cmd: shorter structs have never been valid. */
#define COLL_CMD_SIZE_V0	120

#include <linux/types.h>

/* Flags that any command may have: they say how to wait. */
#define COLL_CMD_WAITS	(COLL_CMD_SPIN | COLL_CMD_SLEEP)

struct coll_area;
struct coll_fixed;
struct coll_member;
struct coll_req;
struct coll_vec;

/**
 * coll_decode() - copy in, check and pin one struct coll_cmd
 * @m: member it is for
 * @arg: user address of the command
 * @len: its size
 * @fixed: buffer of io_uring that has its plain buffers; NULL: they are in the caller's memory
 * @req: zeroed; filled in except ->done and ->sleeper on success. Its buffers
 *	are referenced: coll_op_post() takes them over, or coll_decode_undo() puts them.
 *
 * Sleeps. Called by the process that opened the file, or a kernel thread that
 * works for it in its address space.
 *
 * Return: 0; or an error as documented at struct coll_cmd, and nothing has changed.
 */
int coll_decode(struct coll_member *m, u64 arg, u32 len, const struct coll_fixed *fixed,
		struct coll_req *req);

/**
 * coll_refused() - a command is not going to be posted
 * @m: member it was for
 * @err: why, negative
 *
 * A command of a dying process fails for odd reasons, such as an interrupted
 * pin. It must not just be left out: the next command of its batch would then get its number,
 * and the other ranks would see a mismatch instead of a death.
 *
 * Return: the error for the caller.
 */
int coll_refused(struct coll_member *m, int err);

/* Release what coll_decode() took, for a request that was not posted. */
void coll_decode_undo(struct coll_req *req);

/**
 * coll_deliver() - give the caller the results that are not in its memory yet
 * @req: complete
 * @result: of the request
 *
 * That is a small result, or the description of a received message if the command asks for
 * it. In the context of the caller. Return: the result; -EFAULT instead of 0 if the memory
 * cannot be written.
 */
int coll_deliver(struct coll_req *req, int result);

#endif /* COLL_FRONT_DECODE_H */
