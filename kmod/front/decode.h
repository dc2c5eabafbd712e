/* SPDX-License-Identifier: GPL-2.0 */
/* From bytes of user space to a checked request: the same for ioctl and io_uring. */
#ifndef COLL_FRONT_DECODE_H
#define COLL_FRONT_DECODE_H

#include <linux/types.h>

/* Flags that any command may have: how to wait, not what to do. */
#define COLL_CMD_WAITS	(COLL_CMD_SPIN | COLL_CMD_SLEEP)

struct coll_member;
struct coll_req;
struct coll_vec;

/**
 * coll_decode() - copy in, check and pin one struct coll_cmd
 * @m: member it is for
 * @arg: user address of the command
 * @len: its size
 * @req: zeroed; filled in but for ->done and ->waiter on success. Its buffers
 *	are referenced: coll_op_post() takes them over, or coll_decode_undo().
 *
 * Sleeps. Called by the process that opened the file, or a kernel thread that
 * works for it in its address space.
 *
 * Return: 0 or as documented at struct coll_cmd; nothing has changed then.
 */
int coll_decode(struct coll_member *m, u64 arg, u32 len, struct coll_req *req);

/**
 * coll_refused() - a command is not going to be posted
 * @m: member it was for
 * @err: why, negative
 *
 * A command of a dying process fails for odd reasons, such as an interrupted
 * pin. It must not just be left out: the next one of its batch would then be
 * taken for it, and the others would hear of a disagreement, not of a death.
 *
 * Return: what to tell the caller.
 */
int coll_refused(struct coll_member *m, int err);

/* Give back what coll_decode() took, of a request that was not posted. */
void coll_decode_undo(struct coll_req *req);

/**
 * coll_take_vec() - a vector of the caller's memory
 * @m: member
 * @reg: in registered buffer @id; else pinned now, or seen through windows
 * @id: from the user
 * @addr: first byte
 * @len: bytes, not 0
 * @write: will be written
 * @v: result; the buffer is referenced
 */
int coll_take_vec(struct coll_member *m, bool reg, u32 id, u64 addr, u64 len,
		  bool write, struct coll_vec *v);

/* message.c */

/**
 * coll_decode_message() - check and pin a send, receive or both
 * @m: member it is for
 * @req: the command has been copied; as coll_decode()
 *
 * In the command of a receive what is received is moved to @recv_count and @recv_dtype,
 * so that nobody else has to know the three forms.
 */
int coll_decode_message(struct coll_member *m, struct coll_req *req);

/**
 * coll_deliver() - give the caller what does not lie in its memory yet
 * @req: complete
 * @result: of the request
 *
 * Small results, and what has been received, if it asked. In the context of the caller.
 * Return: the result; -EFAULT instead of 0 if it cannot be told.
 */
int coll_deliver(struct coll_req *req, int result);

#endif /* COLL_FRONT_DECODE_H */
