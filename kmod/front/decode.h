/* SPDX-License-Identifier: GPL-2.0 */
/* From bytes of user space to a checked request: the same for ioctl and io_uring. */
#ifndef COLL_FRONT_DECODE_H
#define COLL_FRONT_DECODE_H

/* First published size of struct coll_cmd: shorter ones have never been valid. */
#define COLL_CMD_SIZE_V0	120

#include <linux/types.h>

/* Flags that any command may have: how to wait, not what to do. */
#define COLL_CMD_WAITS	(COLL_CMD_SPIN | COLL_CMD_SLEEP)

struct coll_area;
struct coll_fixed;
struct coll_member;
struct coll_req;
struct coll_vec;

/**
 * struct coll_range - memory of the caller that a vector lies in
 * @fixed: buffer of io_uring's that it must lie in; NULL: anywhere
 * @reg: it lies in our registered buffer @id instead
 * @id: from the user
 * @addr: first byte
 * @len: bytes, not 0
 * @area: the vector is these bytes only, and @addr is where its offsets count from;
 *	NULL: it is one piece
 * @read: what is there now will be read
 * @write: will be written
 */
struct coll_range {
	const struct coll_fixed *fixed;
	bool reg;
	u32 id;
	u64 addr;
	u64 len;
	const struct coll_area *area;
	bool read;
	bool write;
};

/**
 * coll_decode() - copy in, check and pin one struct coll_cmd
 * @m: member it is for
 * @arg: user address of the command
 * @len: its size
 * @fixed: where its plain buffers lie; NULL: in the caller's memory
 * @req: zeroed; filled in but for ->done and ->sleeper on success. Its buffers
 *	are referenced: coll_op_post() takes them over, or coll_decode_undo().
 *
 * Sleeps. Called by the process that opened the file, or a kernel thread that
 * works for it in its address space.
 *
 * Return: 0 or as documented at struct coll_cmd; nothing has changed then.
 */
int coll_decode(struct coll_member *m, u64 arg, u32 len, const struct coll_fixed *fixed,
		struct coll_req *req);

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
 * @r: where: in a registered buffer, of ours or io_uring's, or else pinned now, or seen
 *	through windows
 * @v: result; the buffer is referenced
 */
int coll_take_vec(struct coll_member *m, const struct coll_range *r, struct coll_vec *v);

/* message.c */

/**
 * coll_decode_message() - check and pin a send, receive or both
 * @m: member it is for
 * @fixed: as coll_decode()
 * @req: the command has been copied; as coll_decode()
 *
 * In the command of a receive what is received is moved to @recv_count and @recv_dtype,
 * so that nobody else has to know the three forms.
 */
int coll_decode_message(struct coll_member *m, const struct coll_fixed *fixed,
			struct coll_req *req);

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
