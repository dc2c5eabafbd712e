/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loans: a channel lets the other end of its link read from its pages, if the other end is a
 * channel of this kernel. The payload then does not go through the socket.
 *
 * Each channel has a desk in a table of this module. The other end of a channel is the channel whose
 * group has the same key and epoch, whose link has the same number, whose node and peer are ours
 * swapped, and whose HELLO had the nonce that has come. Without the nonce, it might be a channel of
 * a group that has ended, but whose links linger. A peer without the key finds no desk. A peer with
 * the key is a member, and may read the bytes that the op sends while the op runs.
 *
 * The reader computes with the bytes where they are, one piece at a time, under the lock of the
 * desk. So the lender can take a loan back at any moment, and waits for one piece at most. No
 * reference to a page ever leaves the lender: no socket, pipe or packet has one. Nothing may
 * sleep under the lock. If the reader's own memory is not pinned, writing to it can fault. Then the
 * reader only copies the piece under the lock.
 */
#ifndef COLL_XPORT_LOAN_H
#define COLL_XPORT_LOAN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/list_bl.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>

#include "../pure/wire.h"

struct coll_channel;
struct coll_vec;

/* Bytes read under one hold of desk->lock. If they are copied, they stay in the cache. */
#define COLL_LOAN_PIECE		SZ_16K
/* If they are folded: limit of the bytes in all vectors together; least limit of the bytes read. */
#define COLL_LOAN_TOUCHED	SZ_256K
#define COLL_LOAN_LEAST		256U

/**
 * struct coll_desk - what a channel has lent
 * @ref: the channel, and the other end once it has found it
 * @list: in the table of desks, under the lock of its bucket
 * @key: key of the group
 * @nonce: of its HELLO
 * @epoch: its epoch
 * @node: its node
 * @peer: the node at the other end
 * @nr: number of the link
 * @lock: protects @ch and @loans; process context; only the locks of coll_conn_kick() are taken
 *	under it
 * @ch: the channel; NULL: it has gone
 * @loans: what is lent, oldest first
 */
struct coll_desk {
	struct kref ref;
	struct hlist_bl_node list;
	u8 key[COLL_KEY_SIZE];
	u8 nonce[COLL_WIRE_NONCE];
	u32 epoch;
	u32 node;
	u32 peer;
	u32 nr;
	spinlock_t lock;
	struct coll_channel *ch;
	struct list_head loans;
};

/**
 * coll_desk_alloc() - a desk for a new channel; the other end cannot find it yet
 * @ch: with its group, peer, number and nonce
 *
 * Return: 0 and ch->desk is set; -ENOMEM.
 */
int coll_desk_alloc(struct coll_channel *ch);

/* The channel is a link of its group now: the other end may find its desk. */
void coll_desk_open(struct coll_channel *ch);

/* Drop the loans of a channel that is in no pass any more, and hide its desk from the other end. */
void coll_desk_close(struct coll_channel *ch);

/**
 * coll_desk_kin() - the desk of the other end
 * @ch: established channel, under conn->lock
 *
 * Return: NULL if the other end is not in this kernel, or has gone. Else ch->kin.
 */
struct coll_desk *coll_desk_kin(struct coll_channel *ch);

/**
 * coll_loan_add() - lend the payload of a frame
 * @ch: channel, under conn->lock, with a ref of the op in ->zc_op
 * @f: DATA with COLL_FRAME_LOAN
 * @vec: where the payload lies; its buffer has pages of its own
 * @at: offset of the payload in @vec
 *
 * Return: false if there is no memory.
 */
bool coll_loan_add(struct coll_channel *ch, const struct coll_frame *f,
		   const struct coll_vec *vec, u64 at);

/* Take all loans back. Under conn->lock. No reader is left when it returns. */
void coll_loan_recall(struct coll_channel *ch);

/* Does the other end still have loans to read? Under conn->lock. */
bool coll_loan_any(const struct coll_channel *ch);

/*
 * Position of the oldest loan among all bytes that the op sends on the link; U64_MAX: there is no
 * loan. Under conn->lock.
 */
u64 coll_loan_first(const struct coll_channel *ch);

/* Takes contiguous bytes of a loan. Under desk->lock: must not sleep. Return: 0 or -errno. */
typedef int coll_loan_fn(void *arg, const u8 *data, u32 len);

/**
 * coll_loan_read() - read the next bytes of a loan of the other end
 * @ch: the reading channel, under conn->lock
 * @f: frame that announced the loan
 * @done: bytes of it that have been read
 * @len: wanted, not 0; COLL_LOAN_PIECE are read at most
 * @fn: called for each contiguous part, in order
 * @arg: of @fn
 *
 * The last bytes end the loan. Return: bytes; 0: the loan has been taken back, or @fn has failed.
 */
u32 coll_loan_read(struct coll_channel *ch, const struct coll_frame *f, u32 done, u32 len,
		   coll_loan_fn *fn, void *arg);

/* Is there memory at ch->piece? If not, allocate it; if that fails, the work retries. In a pass. */
bool coll_piece_ready(struct coll_channel *ch);

#endif /* COLL_XPORT_LOAN_H */
