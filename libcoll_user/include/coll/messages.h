/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages between two ranks: send, recv, and both at once. Each in the four ways of
 * collectives.h, and into an SQE of the application's own ring.
 *
 * They are no collectives: no rank but the partner takes part. Messages do not wait for
 * collectives that are under way, nor collectives for messages. A rank may send to itself, if
 * the receive is nonblocking, or by sendrecv.
 *
 * A send is over when a receive has taken the message and the buffer may be used again:
 * as MPI_Ssend. Two ranks that both send first, with the blocking call, wait for each
 * other: that is what sendrecv is for.
 *
 * As many nonblocking messages may be under way as memory allows, and the max_inflight of
 * coll_device_version() for all processes of a user. One more ends with ENOMEM, or waits in the
 * process if there is no io_uring. A communicator gives the kernel max_inflight - 1 nonblocking
 * calls at most: later ones wait in the process until one of those is over.
 */
#ifndef COLL_MESSAGES_H
#define COLL_MESSAGES_H

#ifndef COLL_COLL_H
#error "include <coll/coll.h>"
#endif

/* As in collectives.h, with one more function for rings. */
#define COLL_FUNCTIONS(name, ...)						\
	int coll_##name(coll_comm_t *comm, __VA_ARGS__);			\
	int coll_i##name(coll_comm_t *comm, __VA_ARGS__, coll_request_t **req);	\
	int coll_##name##_init(coll_comm_t *comm, __VA_ARGS__, coll_request_t **req); \
	void coll_cmd_##name(coll_comm_t *comm, struct coll_cmd *cmd, __VA_ARGS__); \
	void coll_prep_##name(struct io_uring_sqe *sqe, coll_comm_t *comm,	\
			      struct coll_cmd *cmd, __VA_ARGS__)

/**
 * send: @count elements to rank @dest
 *
 * @dest may be COLL_RANK_NULL: done at once. @tag: 0 .. COLL_TAG_MAX.
 */
COLL_FUNCTIONS(send, const void *buf, uint64_t count, enum coll_dtype dtype,
	       uint32_t dest, uint32_t tag);

/**
 * recv: up to @count elements from rank @source
 *
 * @source may be COLL_RANK_ANY or COLL_RANK_NULL, @tag COLL_TAG_ANY. A message goes to the
 * receive posted first of those that it fits. @got, if not NULL, is told what came; it
 * must live until the call is over.
 * Errors of this message only, which the send gets as well: EMSGSIZE if it is longer; EBADE if it
 * has another type, and neither type is COLL_BYTE.
 */
COLL_FUNCTIONS(recv, void *buf, uint64_t count, enum coll_dtype dtype,
	       uint32_t source, uint32_t tag, struct coll_message *got);

/** sendrecv: both at once, also with one and the same rank; buffers do not overlap */
COLL_FUNCTIONS(sendrecv, const void *send, uint64_t send_count, enum coll_dtype send_dtype,
	       uint32_t dest, uint32_t send_tag, void *recv, uint64_t recv_count,
	       enum coll_dtype recv_dtype, uint32_t source, uint32_t recv_tag,
	       struct coll_message *got);

/** sendrecv_replace: what comes takes the place of what is sent */
COLL_FUNCTIONS(sendrecv_replace, void *buf, uint64_t count, enum coll_dtype dtype,
	       uint32_t dest, uint32_t send_tag, uint32_t source, uint32_t recv_tag,
	       struct coll_message *got);

/**
 * coll_probe() - wait until there is a message to receive
 * @comm: communicator
 * @source: rank, COLL_RANK_ANY or COLL_RANK_NULL
 * @tag: tag, or COLL_TAG_ANY
 * @got: is told what coll_recv() with the same @source and @tag would get; may be NULL
 *
 * As MPI_Probe: the message stays where it is, and any receive may take it. With several
 * threads use coll_mprobe(). The deadline of the communicator holds.
 *
 * Return: 0; -EOPNOTSUPP if the module cannot probe; or as coll_recv().
 */
int coll_probe(coll_comm_t *comm, uint32_t source, uint32_t tag, struct coll_message *got);

/**
 * coll_iprobe() - is there a message to receive?
 * @comm: communicator
 * @source: rank, COLL_RANK_ANY or COLL_RANK_NULL
 * @tag: tag, or COLL_TAG_ANY
 * @found: result: 1 there is, and @got is filled in; else 0
 * @got: as of coll_probe()
 *
 * As MPI_Iprobe. Return: 0, also if there is no message; otherwise as coll_probe().
 */
int coll_iprobe(coll_comm_t *comm, uint32_t source, uint32_t tag, int *found,
		struct coll_message *got);

/**
 * coll_mprobe() - wait for a message, and keep it for coll_mrecv()
 * @comm: communicator
 * @source: rank, COLL_RANK_ANY or COLL_RANK_NULL
 * @tag: tag, or COLL_TAG_ANY
 * @got: is told what it is; @got->id is for coll_mrecv()
 *
 * As MPI_Mprobe: no other receive or probe gets this message, and its sender cannot cancel it
 * any more. For COLL_RANK_NULL the id is COLL_MESSAGE_NULL, which coll_mrecv() takes, too.
 * Every message that is kept is to be received: until then its sender waits.
 *
 * Return: as coll_probe().
 */
int coll_mprobe(coll_comm_t *comm, uint32_t source, uint32_t tag, struct coll_message *got);

/* The same without waiting, as MPI_Improbe. @found, return: as coll_iprobe() */
int coll_improbe(coll_comm_t *comm, uint32_t source, uint32_t tag, int *found,
		 struct coll_message *got);

/**
 * mrecv: up to @count elements of the message @id, from coll_mprobe() or coll_improbe()
 *
 * As MPI_Mrecv. Any thread of the process may receive it, once. Errors: ENOENT if there is no
 * such message, or it has been received; else as recv.
 */
COLL_FUNCTIONS(mrecv, void *buf, uint64_t count, enum coll_dtype dtype, uint64_t id,
	       struct coll_message *got);

/**
 * coll_message_count() - number of elements that have come
 * @got: from a receive
 * @dtype: type of the elements
 *
 * Return: UINT64_MAX if the message is no whole number of elements of @dtype.
 */
uint64_t coll_message_count(const struct coll_message *got, enum coll_dtype dtype);

#undef COLL_FUNCTIONS

#endif /* COLL_MESSAGES_H */
