/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of messages between rank 0 and a peer that the test plays. */
#ifndef WIRE_MSG_H
#define WIRE_MSG_H

#include <poll.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define COUNT	50000
#define TAG	5

static uint8_t frame[COLL_WIRE_HDR + PEER_BYTES];

static inline void send_rts(struct peer *p, uint64_t id, struct coll_rts r)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_RTS, COLL_WIRE_RTS);
	f.seq = id;
	coll_wire_put_header(frame, &f);
	coll_wire_put_rts(frame + COLL_WIRE_HDR, &r);
	peer_write(p, 0, frame, COLL_WIRE_HDR + COLL_WIRE_RTS);
}

static inline void send_cts(struct peer *p, uint64_t id, uint32_t error)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_CTS, 0);
	f.seq = id;
	f.transfer = error;
	coll_wire_put_header(frame, &f);
	peer_write(p, 0, frame, COLL_WIRE_HDR);
}

static inline void send_cancel(struct peer *p, uint64_t id)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_CANCEL, 0);
	f.seq = id;
	coll_wire_put_header(frame, &f);
	peer_write(p, 0, frame, COLL_WIRE_HDR);
}

/* Send bytes @off to @off + @len of a message. Byte i of the message is i * 7. */
static inline void send_msg(struct peer *p, int stripe, uint64_t id, uint64_t off, uint32_t len)
{
	struct coll_frame f;
	uint32_t i;

	peer_frame(p, &f, COLL_FRAME_MSG, len);
	f.seq = id;
	f.offset = off;
	coll_wire_put_header(frame, &f);
	for (i = 0; i < len; i++)
		frame[COLL_WIRE_HDR + i] = (uint8_t)((off + i) * 7);
	peer_write(p, stripe, frame, COLL_WIRE_HDR + len);
}

static inline bool read_all(int fd, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&pfd, 1, 20000) != 1)
			return false;
		n = read(fd, p, len);
		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

/* Read the next frame that is no POST. Its payload is in frame[], behind the header. */
static inline bool get_frame(struct peer *p, int stripe, struct coll_frame *f)
{
	do {
		if (!read_all(p->sock[stripe], frame, COLL_WIRE_HDR) ||
		    coll_wire_get_header(frame, f) || f->length > PEER_BYTES ||
		    !read_all(p->sock[stripe], frame + COLL_WIRE_HDR, f->length))
			return false;
	} while (f->type == COLL_FRAME_POST);
	return true;
}

static const struct coll_rts offer = {
	.source = 1, .dest = 0, .tag = TAG, .dtype = COLL_BYTE, .bytes = COUNT,
};

/* A thread of rank 0 sends @bytes, or receives up to @bytes. */
static inline bool start(struct peer *p, struct peer_op *o, bool send, uint64_t bytes,
			 uint32_t tag)
{
	if (!peer_op_init(o, p, PEER_BCAST_IN, COUNT / 4, 0))
		return false;
	if (send)
		raw_send(&o->cmd, o->out.mem, bytes, COLL_BYTE, 1, tag);
	else
		raw_recv(&o->cmd, o->out.mem, bytes, COLL_BYTE, COLL_RANK_ANY, tag, NULL);
	o->cmd.timeout_ns = 30 * SECOND;
	return peer_op_start(o, p);
}

#endif /* WIRE_MSG_H */
