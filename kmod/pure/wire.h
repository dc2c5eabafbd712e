/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Bytes on a link: frames of a fixed header and a payload, little-endian.
 *
 * Two streams make a link. Stripe 0 (control) carries HELLO, PROOF, ABORT, BYE, POST, ACK, RTS,
 * CTS, CANCEL and TENSOR, and is always read. A data stripe carries HELLO and PROOF first, DATA
 * and MSG then. DATA is read only as far as posted ops want the bytes: that is the flow control,
 * and the reason why an ABORT must not have to queue behind data. MSG always has a place to go to:
 * a message is offered by RTS, and its bytes follow the CTS.
 *
 * Several communicators may share the streams. Each has a window of its own for DATA. So DATA
 * that one of them does not read yet can go to a backlog, and the others go on.
 *
 * The encoders and decoders here allocate nothing, and trust no peer. They check each accepted
 * field for its range in this file. The caller checks what depends on the state of an op (expected
 * transfer, offset, room).
 */
#ifndef COLL_PURE_WIRE_H
#define COLL_PURE_WIRE_H

#include "env.h"

#define COLL_WIRE_MAGIC		0x4c4c4f43U	/* "COLL" */
#define COLL_WIRE_VERSION	4
#define COLL_WIRE_HDR		56		/* bytes of a header */
#define COLL_WIRE_HELLO		64		/* bytes of each payload */
#define COLL_WIRE_ABORT		72
#define COLL_WIRE_BYE		16
#define COLL_WIRE_RTS		24
#define COLL_WIRE_PROOF		32
#define COLL_WIRE_TENSOR_MAX	1024		/* TENSOR: from 1 byte on */
#define COLL_WIRE_CTRL_MAX	1024		/* the largest of these */
#define COLL_WIRE_NAME		16		/* public name of a communicator */
#define COLL_WIRE_NONCE		16
#define COLL_WIRE_LABEL		16		/* first bytes of all that is authenticated */
/* PROOF authenticates: label, epoch, HELLO of the sender, HELLO of the receiver */
#define COLL_WIRE_PROOF_TEXT	(COLL_WIRE_LABEL + 4 + 2 * COLL_WIRE_HELLO)
#define COLL_WIRE_DATA_MAX	(1U << 20)	/* payload of DATA or MSG at most */
/* DATA of a communicator, headers and payload, not acknowledged yet, at most */
#define COLL_WIRE_WINDOW	(4U << 20)

enum coll_frame_type {
	COLL_FRAME_HELLO	= 1,	/* first frame of each stream, each way */
	COLL_FRAME_DATA		= 2,	/* bytes of a transfer; length 0: a token */
	COLL_FRAME_ABORT	= 3,	/* the communicator has failed, and why */
	COLL_FRAME_BYE		= 4,	/* a rank leaves after op @seq */
	COLL_FRAME_POST		= 5,	/* op @seq runs here, and waits */
	COLL_FRAME_ACK		= 6,	/* @offset bytes of DATA are consumed */
	COLL_FRAME_RTS		= 7,	/* message @seq is offered to a rank */
	COLL_FRAME_CTS		= 8,	/* message @seq may come, or is refused */
	COLL_FRAME_MSG		= 9,	/* bytes of message @seq, in the order of CTS */
	COLL_FRAME_CANCEL	= 10,	/* message @seq is wanted back: the CTS tells */
	COLL_FRAME_PROOF	= 11,	/* the answer to HELLO: the sender knows the key */
	COLL_FRAME_TENSOR	= 12,	/* records about named collectives, see coord_wire.c */
};

/* Numbers that go into the signature of an op. Partial results are wide (wide.h). */
#define COLL_WIRE_WIDE		1
/* Partial results are not wide, as the command asks. */
#define COLL_WIRE_NARROW	2
/* The op is a fusion of tensors. */
#define COLL_WIRE_FUSED		4
/* Elements have a smaller type on links: this number plus that type. */
#define COLL_WIRE_SMALL		8

/* struct coll_frame.flags: DATA: acknowledge as soon as this is consumed */
#define COLL_FRAME_ACK_NOW	(1U << 0)
/* DATA: the payload does not follow: both ends are in one kernel, see xport/loan.h */
#define COLL_FRAME_LOAN		(1U << 1)

/**
 * struct coll_frame - a header, decoded
 * @type: enum coll_frame_type
 * @flags: DATA: COLL_FRAME_ACK_NOW, COLL_FRAME_LOAN; else 0
 * @comm: communicator, as coll_wire_comm() gives it
 * @epoch: incarnation of it
 * @transfer: DATA: ordinal of the transfer among those of this op on this
 *	directed link; CTS: errno of a refusal; else 0
 * @seq: DATA, POST: op sequence number, from 1; RTS, CTS, MSG, CANCEL: number of the message
 *	among those from that node to this one, from 1; else 0
 * @offset: DATA, MSG: byte offset of the payload in the transfer or message; ACK: bytes of DATA
 *	frames, headers and payload, consumed so far; else 0
 * @length: bytes of payload, which follow unless it is a loan
 * @crc: CRC32C of the payload if a flag says so; none does yet, must be 0
 * @signature: DATA, POST: coll_signature() of the op; else 0
 *
 * Wire layout, byte offsets: magic 0, version 4 (u8), type 5 (u8), flags 6
 * (u16), comm 8 (u64), epoch 16 (u32), transfer 20 (u32), seq 24 (u64),
 * offset 32 (u64), length 40 (u32), crc 44 (u32), signature 48 (u64).
 */
struct coll_frame {
	u8	type;
	u16	flags;
	u32	epoch;
	u64	comm;
	u32	transfer;
	u32	length;
	u64	seq;
	u64	offset;
	u64	signature;
	u32	crc;
};

/* Bytes that follow the header on the stream. */
static inline u32 coll_wire_follows(const struct coll_frame *f)
{
	return f->flags & COLL_FRAME_LOAN ? 0 : f->length;
}

/**
 * struct coll_hello - payload of HELLO
 * @name: of the communicator: the first bytes of the MAC of coll_wire_put_name_text() under its
 *	key
 * @nonce: random; another one for each stream, and for each communicator that joins one later
 * @size: ranks
 * @nr_nodes: nodes
 * @src_node: of the sender
 * @dst_node: of the receiver
 * @stripe: stream
 * @wire_min: lowest wire version that the sender speaks
 * @wire_max: highest
 * @map: coll_wire_map()
 *
 * Nothing of it is secret.
 *
 * Wire: name 0, nonce 16, size 32, nr_nodes 36, src_node 40, dst_node 44, stripe 48,
 * wire_min 52, wire_max 56, map 60.
 */
struct coll_hello {
	u8	name[COLL_WIRE_NAME];
	u8	nonce[COLL_WIRE_NONCE];
	u32	size;
	u32	nr_nodes;
	u32	src_node;
	u32	dst_node;
	u32	stripe;
	u32	wire_min;
	u32	wire_max;
	u32	map;
};

/**
 * struct coll_bye - payload of BYE
 * @rank: the rank that leaves
 * @orders: number of the last order about named collectives that its node had applied before, see
 *	coll_coord.serial; 0: there was none
 * @seq: last op it takes part in
 *
 * Wire: rank 0, orders 4, seq 8.
 */
struct coll_bye {
	u32	rank;
	u32	orders;
	u64	seq;
};

/**
 * struct coll_rts - payload of RTS
 * @source: sending rank
 * @dest: receiving rank
 * @tag: up to COLL_TAG_MAX
 * @dtype: enum coll_dtype
 * @bytes: length of the message
 *
 * Wire: source 0, dest 4, tag 8, dtype 12, bytes 16.
 */
struct coll_rts {
	u32	source;
	u32	dest;
	u32	tag;
	u32	dtype;
	u64	bytes;
};

/**
 * coll_wire_comm() - short name of a communicator, for headers
 * @name: COLL_WIRE_NAME bytes, as in HELLO
 */
u64 coll_wire_comm(const u8 *name);

/**
 * coll_wire_map() - digest of what all nodes have to agree on before they make schedules
 * @node_of: node of each rank
 * @size: ranks
 * @named: is the communicator for named collectives?
 */
u32 coll_wire_map(const u32 *node_of, u32 size, bool named);

/**
 * coll_wire_put_name_text() - the text whose MAC is the name of a communicator
 * @buf: COLL_WIRE_LABEL bytes
 */
void coll_wire_put_name_text(u8 *buf);

/**
 * coll_wire_put_proof_text() - the text whose MAC is PROOF
 * @buf: COLL_WIRE_PROOF_TEXT bytes
 * @epoch: of the communicator
 * @from: HELLO of the sender of PROOF
 * @to: HELLO of the receiver
 *
 * It depends on all fields of both, and on which of them is which.
 */
void coll_wire_put_proof_text(u8 *buf, u32 epoch, const struct coll_hello *from,
			      const struct coll_hello *to);

/**
 * coll_signature() - digest of what all ranks must agree on
 * @collective: enum coll_collective
 * @op: enum coll_op_code
 * @dtype: enum coll_dtype
 * @algorithm: enum coll_algorithm_id, as asked for
 * @root: root rank or 0
 * @count: elements, or a digest of the counts
 * @seq: op sequence number
 *
 * Every argument changes the result; never 0.
 */
u64 coll_signature(u32 collective, u32 op, u32 dtype, u32 algorithm, u32 root,
		   u64 count, u64 seq);

/* Add a value to a digest. A new digest may begin with any number. */
u64 coll_digest(u64 digest, u64 value);

/**
 * coll_wire_put_header() - encode
 * @buf: COLL_WIRE_HDR bytes, all written
 * @f: what
 */
void coll_wire_put_header(u8 *buf, const struct coll_frame *f);

/**
 * coll_wire_get_header() - decode and check
 * @buf: COLL_WIRE_HDR bytes
 * @f: result, valid on success only
 *
 * Checks magic, version, type, flags, the length (exact for control frames but
 * TENSOR, at most COLL_WIRE_DATA_MAX for DATA and MSG), that offset + length does not wrap, seq
 * not 0 where there is one, length not 0 for MSG, offset not 0 for ACK, and that fields
 * the type does not use are zero.
 *
 * Return: 0 or -EPROTO.
 */
int coll_wire_get_header(const u8 *buf, struct coll_frame *f);

/* Payloads: put writes all bytes; get returns 0 or -EPROTO. */
void coll_wire_put_hello(u8 *buf, const struct coll_hello *h);
int coll_wire_get_hello(const u8 *buf, struct coll_hello *h);
/*
 * May this byte be in the name of a host? Graphic ASCII only: the name ends up in logs and
 * terminals of other hosts and users.
 */
bool coll_wire_host_byte_ok(u8 c);
void coll_wire_put_abort(u8 *buf, const struct coll_cause *c);
int coll_wire_get_abort(const u8 *buf, struct coll_cause *c);
void coll_wire_put_bye(u8 *buf, const struct coll_bye *b);
int coll_wire_get_bye(const u8 *buf, struct coll_bye *b);
void coll_wire_put_rts(u8 *buf, const struct coll_rts *r);
int coll_wire_get_rts(const u8 *buf, struct coll_rts *r);

#endif /* COLL_PURE_WIRE_H */
