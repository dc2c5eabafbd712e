/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A node played by the test itself: rank 1 of two, at the other end of the sockets of rank 0,
 * which is a real one. The frames of rank 1 do not depend on what it receives, because the test
 * knows rank 0's input as well.
 */
#ifndef COLL_SELFTESTS_PEER_H
#define COLL_SELFTESTS_PEER_H

#include <pthread.h>

#include "greet.h"
#include "pure/wire.h"
#include "raw.h"
#include "util.h"

#define PEER_RANK	1
#define PEER_BYTES	65536
/* HELLO and PROOF, with their headers */
#define PEER_GREET	(2 * COLL_WIRE_HDR + COLL_WIRE_HELLO + COLL_WIRE_PROOF)

/**
 * struct peer - the test's end
 * @c: plan; c.fd[0] is the real rank
 * @sock: control and data stream, the peer's end; -1 when closed
 * @seq: ops begun
 * @name: of the communicator
 * @mine: HELLO of the peer on each stream
 * @theirs: HELLO of the real rank, as it has come
 * @payload: of the frame that was read last, its first bytes
 */
struct peer {
	struct raw_comm c;
	int sock[2];
	uint64_t seq;
	uint8_t name[COLL_WIRE_NAME];
	struct coll_hello mine[2];
	struct coll_hello theirs[2];
	uint8_t payload[COLL_WIRE_CTRL_MAX];
};

/*
 * Join and hand over, and read HELLO of the real rank on both streams. If @greet: complete the
 * handshakes of both; nothing is left to read then. Return: 0 or -errno.
 */
int peer_start(struct peer *p, bool greet);

/* As peer_start(p, true). @prepare gets each pair of sockets first; sv[1] is the peer's. */
int peer_start_with(struct peer *p, void (*prepare)(const int sv[2], int stripe));
/* The same. The peer has ranks 1 and 2. */
int peer_start_two(struct peer *p);
/*
 * The same with complete handshakes, for named collectives. The real rank is @rank, so that the
 * peer is the child of its node in the tree of nodes (0), or the parent (1).
 */
int peer_start_named(struct peer *p, uint32_t rank);

/* The same, but the peer is the parent and has ranks 0 and 1. The real rank is 2. */
int peer_start_named_two(struct peer *p);

/*
 * Named collectives of @n + 1 nodes: the real rank is 0, @p[k] plays node k + 1. All have the file
 * of the rank; peer_stop() of one of them closes it. Return: 0 or -errno.
 */
int peer_start_children(struct peer *const *p, uint32_t n);
void peer_stop(struct peer *p);
/* Close one stream: by RST if @hard. */
void peer_close(struct peer *p, int stripe, bool hard);

/*
 * A further communicator of the same two nodes, joined, not yet on the streams of
 * @parent, which it writes to. peer_leave() closes its rank.
 */
int peer_second(struct peer *p, const struct peer *parent);
void peer_leave(struct peer *p);
/* The handshake of a communicator whose rank is attached to the streams already. */
bool peer_second_establish(struct peer *p, struct peer *parent);

/**
 * peer_read() - the next frame that the real rank has sent
 * @p: peer; the frame may be of any communicator
 * @stripe: on which stream
 * @f: result
 * @ms: how long to wait for its beginning
 *
 * Return: false if there was none.
 */
bool peer_read(struct peer *p, int stripe, struct coll_frame *f, int ms);

/* As peer_read(), but skip POST, which the rank sends if an op takes long. */
bool peer_read_ctrl(struct peer *p, int stripe, struct coll_frame *f, int ms);

/* Write all; false if the stream is broken. */
bool peer_write(struct peer *p, int stripe, const void *bytes, size_t len);

/* A header of the right communicator. */
void peer_frame(const struct peer *p, struct coll_frame *f, uint8_t type,
		uint32_t length);
/**
 * peer_hear() - read HELLO of the real rank
 * @p: peer
 * @via: whose sockets: its own, or those of the communicator that it shares
 * @stripe: on which stream
 *
 * Return: false if something else came, or nothing.
 */
bool peer_hear(struct peer *p, struct peer *via, int stripe);

/* Read PROOF, the answer to HELLO of @p, from the sockets of @via. Return: whether it is right. */
bool peer_is_proved(struct peer *p, struct peer *via, int stripe);

/* Wait until the real rank knows that PEER_RANK has left: ten seconds at most. Does it? */
bool peer_has_left(struct peer *p);

/* The real rank comes to know that the peer has the key. */
bool peer_is_believed(struct peer *p);

/* HELLO and PROOF, the answer to what was heard: at @buf, PEER_GREET bytes. Return: bytes. */
size_t peer_put_greet(const struct peer *p, int stripe, uint8_t *buf);
size_t peer_put_proof(const struct peer *p, int stripe, uint8_t *buf);

/* HELLO, ABORT, BYE: header and payload at @buf. Return: bytes. */
size_t peer_put_hello(const struct peer *p, int stripe, uint8_t *buf);
size_t peer_put_abort(const struct peer *p, const struct coll_cause *c, uint8_t *buf);
size_t peer_put_bye(const struct peer *p, uint32_t rank, uint64_t seq, uint8_t *buf);
/* BYE of a rank whose node had applied so many orders about named collectives. */
size_t peer_put_bye_after(const struct peer *p, uint32_t rank, uint64_t seq, uint32_t orders,
			  uint8_t *buf);

/**
 * peer_put_op() - all that rank 1 sends for an op, as one run of bytes
 * @p: peer; its op number @seq
 * @cmd: i32 sum allreduce, i32 broadcast of any root, or barrier, as rank 0
 *	submits it; input of rank r is test_value(r, i)
 * @seq: op
 * @frame: longest payload of a frame; odd ones cut elements
 * @buf: room for it
 *
 * Return: bytes.
 */
size_t peer_put_op(const struct peer *p, const struct coll_cmd *cmd,
		   uint64_t seq, uint32_t frame, uint8_t *buf);

/**
 * struct peer_op - rank 0's op, running in a thread
 * @out: guarded buffer it works in, in place
 * @result: of the ioctl
 * @when: time of its end
 */
struct peer_op {
	pthread_t thread;
	int fd;
	struct coll_cmd cmd;
	struct test_guarded out;
	int result;
	uint64_t when;
};

enum peer_kind { PEER_BARRIER, PEER_BCAST_IN, PEER_BCAST_OUT, PEER_ALLREDUCE,
		 PEER_NR_KINDS };

/* Prepare rank 0's command, with input in place. */
bool peer_op_init(struct peer_op *o, struct peer *p, enum peer_kind kind,
		  uint64_t count, uint64_t timeout_ns);
/* Submit in a thread. */
bool peer_op_start(struct peer_op *o, struct peer *p);
/* Wait for the end; the result. */
int peer_op_wait(struct peer_op *o);
/* Wrong elements of the output. */
uint64_t peer_op_wrong(const struct peer_op *o);
/* Bytes of the surroundings that have changed; frees. */
size_t peer_op_exit(struct peer_op *o);

#endif /* COLL_SELFTESTS_PEER_H */
