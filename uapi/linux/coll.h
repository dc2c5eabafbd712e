/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * coll: collective communication as a kernel service. The whole user ABI.
 *
 * /dev/coll: one open file is one rank ("member") of one communicator.
 * Setup verbs are ioctls. Work goes through struct coll_cmd, either by
 * COLL_IOC_SUBMIT (blocks until the collective is over), by
 * IORING_OP_URING_CMD with cmd_op COLL_URING_SUBMIT (completes by CQE), or by
 * COLL_IOC_POST (does not block; COLL_IOC_COLLECT takes completions).
 *
 * Extending. Structs only grow, at the end. The kernel takes a struct of any size from its
 * first published size on; bytes it does not know must be zero (else E2BIG), bytes the caller
 * does not have read as zero. For ioctls the size is the one encoded in the command number, for
 * uring_cmd it is struct coll_sqe.len. Reserved fields must be zero (else EINVAL), unknown flag
 * bits are refused (EINVAL). Feature bits and the masks of COLL_IOC_VERSION say what works,
 * never a version number.
 *
 * Sizes and counts are 64 bits wide, user addresses travel as __u64, and the
 * layout is the same for 32- and 64-bit callers.
 *
 * Errors of every verb: ENOTTY if there is no such verb (EOPNOTSUPP by io_uring); EINVAL if the
 * struct is shorter than its first published size, or is a struct coll_cmd longer than a page;
 * EFAULT. Setup verbs and mmap() also: EPERM if the caller is not the process that opened the file,
 * or if its effective uid is not that of open().
 */
#ifndef _UAPI_LINUX_COLL_H
#define _UAPI_LINUX_COLL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define COLL_ABI		1
#define COLL_KEY_SIZE		16
#define COLL_HOST_SIZE		32

/* Most ranks of one communicator. It cannot have more nodes than ranks. */
#define COLL_MAX_SIZE		1024
/* Most links between two nodes. */
#define COLL_MAX_LINKS		8
/* Most streams of these links: stripe 2k carries control of link k, stripe 2k + 1 its data. */
#define COLL_MAX_STRIPES	(2 * COLL_MAX_LINKS)

#define COLL_RANK_NONE		(~(__u32)0)
/* In messages. ANY: any source. NULL: there is no partner, and the message completes at once */
#define COLL_RANK_ANY		COLL_RANK_NONE
#define COLL_RANK_NULL		(~(__u32)0 - 1)

/* Tags of messages are 0 .. COLL_TAG_MAX; a receive may take any of them. */
#define COLL_TAG_MAX		0x7fffffffU
#define COLL_TAG_ANY		(~(__u32)0)

/* struct coll_message.id after COLL_MPROBE of COLL_RANK_NULL: there is nothing to receive */
#define COLL_MESSAGE_NULL	(~(__u64)0)

/**
 * enum coll_collective - the collective, or kind of message, of a struct coll_cmd
 *
 * The number is the bit number in struct coll_version.collectives. Zero is
 * never valid, so that a zeroed command is refused.
 */
enum coll_collective {
	COLL_BARRIER			= 1,
	COLL_BROADCAST			= 2,
	COLL_REDUCE			= 3,
	COLL_ALLREDUCE			= 4,
	COLL_REDUCE_SCATTER		= 5,
	COLL_REDUCE_SCATTER_BLOCK	= 6,
	COLL_ALLGATHER			= 7,
	COLL_ALLGATHERV			= 8,
	COLL_GATHER			= 9,
	COLL_GATHERV			= 10,
	COLL_SCATTER			= 11,
	COLL_SCATTERV			= 12,
	COLL_ALLTOALL			= 13,
	COLL_ALLTOALLV			= 14,
	COLL_SCAN			= 15,
	COLL_EXSCAN			= 16,
	COLL_SEND			= 17,	/* this and the next five: messages */
	COLL_RECV			= 18,
	COLL_SENDRECV			= 19,
	COLL_PROBE			= 20,	/* is there a message to receive? */
	COLL_MPROBE			= 21,	/* keep it for a COLL_MRECV */
	COLL_MRECV			= 22,	/* receive a message that COLL_MPROBE has kept */
	COLL_NR_COLLECTIVES
};

/**
 * enum coll_op_code - reduction operators
 *
 * The number is the bit number in struct coll_version.ops. Collectives that
 * do not reduce take COLL_OP_NONE.
 */
enum coll_op_code {
	COLL_OP_NONE		= 0,
	COLL_OP_SUM		= 1,
	COLL_OP_PROD		= 2,
	COLL_OP_MIN		= 3,
	COLL_OP_MAX		= 4,
	COLL_OP_LAND		= 5,
	COLL_OP_LOR		= 6,
	COLL_OP_LXOR		= 7,
	COLL_OP_BAND		= 8,
	COLL_OP_BOR		= 9,
	COLL_OP_BXOR		= 10,
	COLL_OP_MINLOC		= 11,
	COLL_OP_MAXLOC		= 12,
	COLL_OP_AVG		= 13,
	COLL_OP_PREMULSUM	= 14,	/* sum of scalar * input */
	COLL_OP_REPLACE		= 15,
	COLL_OP_NO_OP		= 16,
	COLL_OP_SUM_EXACT	= 17,	/* correctly rounded sum */
	COLL_OP_USER		= 18,	/* runs in user space, see libcoll_user */
	COLL_NR_OPS
};

/**
 * enum coll_dtype - element types
 *
 * The number is the bit number in struct coll_version.dtypes. Pairs are laid
 * out as the C struct {value, index}.
 */
enum coll_dtype {
	COLL_DTYPE_NONE		= 0,
	COLL_I8			= 1,
	COLL_U8			= 2,
	COLL_I16		= 3,
	COLL_U16		= 4,
	COLL_I32		= 5,
	COLL_U32		= 6,
	COLL_I64		= 7,
	COLL_U64		= 8,
	COLL_BOOL		= 9,
	COLL_BYTE		= 10,
	COLL_F16		= 11,
	COLL_BF16		= 12,
	COLL_F8E4M3		= 13,
	COLL_F8E5M2		= 14,
	COLL_F32		= 15,
	COLL_F64		= 16,
	COLL_LDOUBLE		= 17,	/* x87, 80 bits in 16 bytes */
	COLL_C32		= 18,	/* two f32 */
	COLL_C64		= 19,	/* two f64 */
	COLL_CLDOUBLE		= 20,
	COLL_F32_I32		= 21,
	COLL_F64_I32		= 22,
	COLL_I64_I32		= 23,
	COLL_I32_I32		= 24,
	COLL_I16_I32		= 25,
	COLL_LDOUBLE_I32	= 26,
	COLL_F32_F32		= 27,
	COLL_F64_F64		= 28,
	COLL_OPAQUE		= 29,	/* fixed-size bytes of a user operator */
	COLL_NR_DTYPES
};

/*
 * enum coll_algorithm - 0 lets the kernel choose
 *
 * An algorithm with a radix takes it in the upper byte: COLL_ALG_KNOMIAL |
 * COLL_ALG_RADIX(8). From 2 to 255; 0 is a default; other algorithms have none.
 */
enum coll_algorithm_id {
	COLL_ALG_AUTO			= 0,
	COLL_ALG_RING			= 1,	/* allreduce: reduce-scatter + allgather */
	COLL_ALG_BINOMIAL		= 2,	/* broadcast, reduce, gather, scatter */
	COLL_ALG_DISSEMINATION		= 3,	/* barrier */
	COLL_ALG_LINEAR			= 4,	/* all pairs, or all with the root */
	COLL_ALG_CHAIN			= 5,
	COLL_ALG_TREE			= 6,	/* binary tree; barrier: binomial */
	COLL_ALG_DOUBLE_TREE		= 7,	/* two binary trees, half of the vector each */
	COLL_ALG_MESH			= 8,	/* direct reduce-scatter + allgather */
	COLL_ALG_MESH_FULL		= 9,	/* whole vectors, from everyone to everyone */
	COLL_ALG_ROOT			= 10,	/* all to one, and back */
	COLL_ALG_RING_NAIVE		= 11,	/* the whole vector round the ring, twice */
	COLL_ALG_RECURSIVE_DOUBLING	= 12,
	COLL_ALG_RABENSEIFNER		= 13,	/* recursive halving + doubling */
	COLL_ALG_KNOMIAL		= 14,	/* has a radix */
	COLL_ALG_SCATTER_ALLGATHER	= 15,	/* broadcast */
	COLL_ALG_BRUCK			= 16,
	COLL_ALG_PAIRWISE		= 17,
	COLL_ALG_RECURSIVE_HALVING	= 18,	/* reduce_scatter */
	COLL_NR_ALGS
};

#define COLL_ALG_RADIX(k)	((k) << 8)
#define COLL_ALG_ID_MASK	0xff

/* struct coll_version.features */
#define COLL_FEAT_IOCTL		(1ULL << 0)	/* COLL_IOC_SUBMIT */
#define COLL_FEAT_URING		(1ULL << 1)	/* COLL_URING_SUBMIT */
#define COLL_FEAT_URING_CANCEL	(1ULL << 2)	/* io_uring may cancel our commands */
#define COLL_FEAT_REGISTER	(1ULL << 3)	/* registered buffers */
#define COLL_FEAT_LINKS		(1ULL << 4)	/* several nodes */
#define COLL_FEAT_NETLINK	(1ULL << 5)	/* generic-netlink family "coll" */
#define COLL_FEAT_DEATH_NOTICE	(1ULL << 6)	/* mmu notifier: death seen at once */
#define COLL_FEAT_SELECT	(1ULL << 9)	/* COLL_IOC_SELECT */
#define COLL_FEAT_SHARE		(1ULL << 10)	/* COLL_LINK_SHARE */
#define COLL_FEAT_SPIN		(1ULL << 11)	/* COLL_CMD_SPIN, COLL_CMD_SLEEP */
#define COLL_FEAT_URING_FIXED	(1ULL << 12)	/* IORING_URING_CMD_FIXED */
#define COLL_FEAT_STRIPE	(1ULL << 13)	/* COLL_IOC_STRIPE, several links */
#define COLL_FEAT_PROGRESS	(1ULL << 14)	/* nonblocking work in threads of the process */
#define COLL_FEAT_NARROW	(1ULL << 15)	/* wide partial results, COLL_CMD_NARROW */
#define COLL_FEAT_CANCEL	(1ULL << 16)	/* COLL_IOC_CANCEL */
#define COLL_FEAT_PROBE		(1ULL << 17)	/* COLL_PROBE, COLL_MPROBE, COLL_MRECV */
#define COLL_FEAT_POST		(1ULL << 18)	/* COLL_IOC_POST, COLL_IOC_COLLECT */
#define COLL_FEAT_TENSORS	(1ULL << 19)	/* COLL_JOIN_NAMED */
#define COLL_FEAT_TENSOR_JOIN	(1ULL << 20)	/* COLL_TENSOR_JOIN, COLL_TENSOR_AVG_PRESENT */
#define COLL_FEAT_TENSOR_GROUPS	(1ULL << 21)	/* struct coll_tensor.group */
#define COLL_FEAT_TENSORS_URING	(1ULL << 22)	/* COLL_URING_TENSOR_POST */
#define COLL_FEAT_TENSOR_FUSE	(1ULL << 23)	/* COLL_IOC_TENSOR_FUSE */
#define COLL_FEAT_TENSOR_SCALE	(1ULL << 24)	/* struct coll_tensor.prescale, .postscale */
#define COLL_FEAT_SHM		(1ULL << 25)	/* COLL_IOC_SHM, mmap() */
#define COLL_FEAT_WIRE_TYPES	(1ULL << 26)	/* COLL_CMD_WIRE_F16, COLL_CMD_WIRE_BF16 */
/*
 * On one node all folds are in the order of ranks, unless a command or a table names an algorithm,
 * or a scan has more than COLL_SHM_RANKS ranks
 */
#define COLL_FEAT_RANK_ORDER	(1ULL << 27)
#define COLL_FEAT_SHM_NODES	(1ULL << 28)	/* COLL_IOC_SHM with several nodes, COLL_CMD_NODE */
#define COLL_FEAT_TENSOR_POST_WAIT (1ULL << 29)	/* struct coll_tensor_wait.post */

/**
 * struct coll_version - COLL_IOC_VERSION
 * @abi: COLL_ABI of the module
 * @wire: wire version it speaks
 * @features: COLL_FEAT_* bits
 * @collectives: bit n set: enum coll_collective n works
 * @ops: bit n set: enum coll_op_code n works on some dtype
 * @dtypes: bit n set: enum coll_dtype n works with some op
 * @max_size: most ranks of a communicator
 * @max_inflight: most commands of one user in flight, beyond the first 64 of each member;
 *	ENOMEM for more
 * @simd: name of the instruction set that reductions use, NUL-terminated
 * @max_steps: most steps of one op on one node, of all its ranks together; ENOMEM for more.
 *	In alltoall and allgather and their v-forms a rank takes two steps for each rank
 *	of the communicator. 0: an older module, which does not report it.
 * @reserved32: 0
 *
 * Input: nothing. Result: the struct. Errors: EFAULT.
 */
struct coll_version {
	__u32	abi;
	__u32	wire;
	__u64	features;
	__u64	collectives;
	__u64	ops;
	__u64	dtypes;
	__u32	max_size;
	__u32	max_inflight;
	__u8	simd[16];
	__u32	max_steps;
	__u32	reserved32;
	__u64	reserved[3];
};

/* struct coll_join.flags: join an existing group only, else ENOENT */
#define COLL_JOIN_EXISTING	(1U << 0)
/*
 * Collectives of this communicator have names: COLL_IOC_TENSOR_POST. Collectives without a name are
 * refused (EOPNOTSUPP), messages are not. All ranks must set it alike.
 */
#define COLL_JOIN_NAMED		(1U << 1)

/**
 * struct coll_join - COLL_IOC_JOIN: become rank @rank of a communicator
 * @key: names the communicator; a secret of its ranks. The kernel proves to the peer of each
 *	stream that it knows the key, and does not send it.
 * @rank: 0 .. size-1
 * @size: ranks in all
 * @node: node of this rank
 * @nr_nodes: nodes in all; they are numbered 0 .. nr_nodes-1, which is also their order in the
 *	schedules of nodes: give neighbouring numbers to nodes that are near each other
 * @node_of: user address of __u32[size]: node of every rank
 * @flags: COLL_JOIN_*
 * @epoch: incarnation of the communicator; 0 for a fresh one
 *
 * The first local join makes the group of this node, later ones find it by
 * (key, node). Result: 0.
 * Errors: EINVAL if a number is out of range, or differs from that of the group;
 * EEXIST if this file has joined already, or the rank is taken; ENOENT if there is no such group
 * (COLL_JOIN_EXISTING); EPERM if the group belongs to another uid, or the file was opened by
 * another process; EMFILE if the user has too many communicators; ESHUTDOWN if the group has failed
 * or a rank has left it; EFAULT, ENOMEM.
 */
struct coll_join {
	__u8	key[COLL_KEY_SIZE];
	__u32	rank;
	__u32	size;
	__u32	node;
	__u32	nr_nodes;
	__u64	node_of;
	__u32	flags;
	__u32	epoch;
	__u64	reserved[2];
};

/* struct coll_link_add.flags: use a link that another communicator has */
#define COLL_LINK_SHARE		(1U << 0)

/**
 * struct coll_link_add - COLL_IOC_LINK: hand over one connected TCP socket
 * @peer: node at the other end
 * @fd: established TCP socket; the kernel takes its own reference, the caller
 *      should close the fd and must not use it any more. With COLL_LINK_SHARE an open
 *      file of /dev/coll instead: the parent, which stays usable
 * @stripe: stream of a link: 2k for control of link k, 2k + 1 for its data; with
 *	COLL_LINK_SHARE 2k
 * @flags: COLL_LINK_*
 * @parent_peer: COLL_LINK_SHARE: number that @peer has among the nodes of the parent;
 *	else 0
 * @reserved: 0
 *
 * A link is usable when both its streams have been handed over and have complete handshakes.
 * Link 0 is needed; further links carry parts of large collectives, see COLL_IOC_STRIPE. One
 * local member, no matter which, hands over a given socket.
 * Errors: EINVAL if @peer or @stripe is out of range, or @peer is this node; ENOTCONN if the file
 * has not joined, or the socket is not connected; EBADF, ENOTSOCK; EPROTOTYPE if it is not TCP over
 * IPv4 or IPv6; EBUSY if a part of the kernel uses the socket, for instance TLS; EEXIST if the
 * stripe is taken; ESHUTDOWN if the group has failed; EMFILE if the user has too many connections;
 * ENOMEM.
 *
 * With COLL_LINK_SHARE link k of the parent to the same node carries both communicators:
 * no socket is made, neither communicator blocks the other, and either may end first.
 * The link is usable when the other end has done the same, in any order.
 * Errors then: EINVAL as above, or if @parent_peer is out of range, or the parent is no file of
 * /dev/coll; EBADF; EPERM if the parent was opened by another process or effective uid, or belongs
 * to another uid; ENOTCONN if the file has not joined, or the parent has no such link to that node,
 * or lost it; EEXIST if the communicator has this link to @peer, or uses the link of the parent
 * already; ESHUTDOWN if one of the groups has failed; ENOMEM.
 */
struct coll_link_add {
	__u32	peer;
	__s32	fd;
	__u32	stripe;
	__u32	flags;
	__u32	parent_peer;
	__u32	reserved[3];
};

/**
 * struct coll_register - COLL_IOC_REGISTER: pin a buffer once for many ops
 * @addr: first byte
 * @len: bytes, not 0
 * @flags: COLL_REG_WRITE if collectives may write to it
 * @id: result, for struct coll_cmd.send_buf/recv_buf and COLL_IOC_UNREGISTER
 *
 * Pages are charged to the user's locked memory, as those of io_uring and AF_XDP: RLIMIT_MEMLOCK
 * limits the sum over all processes of the user. It does not apply if the process had CAP_IPC_LOCK
 * at open(). The buffer consists of the pages that are mapped now: after munmap() the id still
 * means the old pages.
 * Errors: EFAULT if memory is not mapped, not readable or not writable, or wraps around; if a
 * user-space server fills it in (FUSE, userfaultfd); or if it is to be written and is a shared
 * mapping of a file (other than tmpfs and hugetlbfs). ENOMEM beyond RLIMIT_MEMLOCK: nothing is
 * charged then. EINVAL also for more than 256 GiB. ENOSPC if no id is left.
 */
#define COLL_REG_WRITE		(1U << 0)
struct coll_register {
	__u64	addr;
	__u64	len;
	__u32	flags;
	__u32	id;
	__u64	reserved[2];
};

/**
 * struct coll_unregister - COLL_IOC_UNREGISTER
 * @id: from COLL_IOC_REGISTER
 *
 * Ops in flight keep the pages until they end. Errors: ENOENT, EINVAL.
 */
struct coll_unregister {
	__u32	id;
	__u32	reserved[3];
};

/**
 * struct coll_abort - COLL_IOC_ABORT: revoke the communicator on every rank
 * @code: the application's reason, shown in the cause on all ranks
 *
 * All pending and later ops of all ranks end with ESHUTDOWN, unless a failure
 * came first. Errors: ENOTCONN if the file has not joined; EINVAL.
 */
struct coll_abort {
	__u32	code;
	__u32	reserved[3];
};

/* struct coll_cancel.flags: all receives of this rank that have no message yet */
#define COLL_CANCEL_RECEIVES	(1U << 0)

/**
 * struct coll_cancel - COLL_IOC_CANCEL: take back messages that have no partner yet
 * @handle: handle of the command, not 0; 0 with COLL_CANCEL_RECEIVES
 * @flags: COLL_CANCEL_*
 * @reserved: 0
 * @cancelled: result, with COLL_CANCEL_RECEIVES: number of cancelled receives
 * @reserved2: 0
 *
 * The command completes once and soon: with ECANCELED, or, if its partner came first, as it would
 * have done without this call. Its own result tells which. A send that has been offered to another
 * node takes a round trip; if a matched probe there holds its message, it completes with the receive
 * of that message. Until the command completes its buffer belongs to it.
 * COLL_CANCEL_RECEIVES also cancels the receiving half of COLL_SENDRECV. Errors: EINVAL, also
 * for a handle of COLL_SENDRECV; ENOENT if no message with that handle is in flight; EALREADY if
 * the message has found its partner, and is not cancelled; ENOTCONN if the file has not joined.
 */
struct coll_cancel {
	__u64	handle;
	__u32	flags;
	__u32	reserved;
	__u64	cancelled;
	__u64	reserved2;
};

/* struct coll_cause.kind */
enum coll_cause_kind {
	COLL_CAUSE_NONE		= 0,
	COLL_CAUSE_EXIT		= 1,	/* the process of @rank ended */
	COLL_CAUSE_CLOSE	= 2,	/* @rank closed its file */
	COLL_CAUSE_LINK		= 3,	/* connection to @node lost, @error says how */
	COLL_CAUSE_PROTO	= 4,	/* malformed or unexpected bytes from @node */
	COLL_CAUSE_MISMATCH	= 5,	/* ranks disagree on op @seq */
	COLL_CAUSE_TIMEOUT	= 6,	/* deadline of op @seq: @rank, or @node, was late */
	COLL_CAUSE_ABORT	= 7,	/* COLL_IOC_ABORT by @rank; @code is the reason */
	COLL_CAUSE_MEMORY	= 8,	/* a buffer on @node went away, or no memory */
	COLL_CAUSE_CANCEL	= 9,	/* io_uring cancelled an op of @rank */
	COLL_NR_CAUSES
};

/**
 * struct coll_cause - the first failure of a communicator
 * @kind: enum coll_cause_kind
 * @error: the errno every op ends with, positive
 * @rank: the rank where it began, or COLL_RANK_NONE
 * @node: its node, or COLL_RANK_NONE
 * @pid: process id in the initial pid namespace of its node, 0 if unknown
 * @signal: signal that ended it, 0 if none
 * @code: exit status or the application's abort code or a link's errno
 * @reserved: zero
 * @seq: op sequence number it happened at
 * @host: host name of @node, NUL-terminated
 */
struct coll_cause {
	__u32	kind;
	__u32	error;
	__u32	rank;
	__u32	node;
	__u32	pid;
	__u32	signal;
	__u32	code;
	__u32	reserved;
	__u64	seq;
	__u8	host[COLL_HOST_SIZE];
};

/* struct coll_status.state */
enum coll_state {
	COLL_STATE_NEW		= 0,	/* not joined */
	COLL_STATE_JOINING	= 1,	/* local ranks or links are missing */
	COLL_STATE_READY	= 2,
	COLL_STATE_FAILED	= 3,	/* @cause says why; sticky */
};

/**
 * struct coll_status - COLL_IOC_STATUS
 * @state: enum coll_state
 * @rank: this member's rank
 * @size: ranks in all
 * @node: this node
 * @nr_nodes: nodes in all
 * @nr_local: ranks of this node
 * @nr_joined: number of these ranks that have joined
 * @nr_links: links of all peers whose two streams are connected and have complete handshakes
 * @posted: ops this member has posted
 * @completed: number of these ops that have ended
 * @pinned: bytes this member's registered buffers pin
 * @memlock_wanted: RLIMIT_MEMLOCK with which every op of this node's ranks so far could have
 *	pinned all its buffers; 0 if no op had to use windows
 * @late_rank: lowest local rank that has not posted the op that other ranks wait in,
 *	COLL_RANK_NONE if there is none
 * @nr_late: number of local ranks that have not posted that op
 * @messages: sends, receives and exchanges this member has posted
 * @match_steps: comparisons that the kernel has made to find partners for messages to this
 *	member
 * @shm_ops: ops that this member says it has done in shared memory; not in @posted. With several
 *	nodes: ops that one rank has posted for all ranks of its node; they are in @posted
 * @cause: first failure
 *
 * Works in every state. Errors: EFAULT.
 */
struct coll_status {
	__u32	state;
	__u32	rank;
	__u32	size;
	__u32	node;
	__u32	nr_nodes;
	__u32	nr_local;
	__u32	nr_joined;
	__u32	nr_links;
	__u64	posted;
	__u64	completed;
	__u64	pinned;
	__u64	memlock_wanted;
	__u32	late_rank;
	__u32	nr_late;
	__u64	messages;
	__u64	match_steps;
	__u64	shm_ops;
	__u64	reserved;
	struct coll_cause cause;
};

/* Most rows of one table */
#define COLL_SELECT_ROWS	64

/**
 * struct coll_select_row - the choice for vectors up to a size
 * @bytes: largest size this row is for: count times bytes of an element. For v-forms: the
 *	average of the counts if every rank has them all, else 0.
 * @algorithm: as of a command; COLL_ALG_AUTO: as without a table
 * @reserved: 0
 * @segment: bytes of the pipelining unit, if the command does not set it: a multiple of 64
 *	up to 1048576; 0: the kernel chooses
 */
struct coll_select_row {
	__u64	bytes;
	__u16	algorithm;
	__u16	reserved;
	__u32	segment;
};

/* struct coll_select.flags: where a table comes from */
enum coll_select_source {
	COLL_SELECT_USER	= 0,	/* set by hand */
	COLL_SELECT_MODEL	= 1,	/* computed from the cost of a transfer */
	COLL_SELECT_MEASURED	= 2,	/* by timing the algorithms */
	COLL_SELECT_FILE	= 3,	/* a file of tables */
	COLL_SELECT_FIXED	= 4,	/* the environment: one algorithm for all sizes */
	COLL_NR_SELECT_SOURCES
};

/**
 * struct coll_select - COLL_IOC_SELECT: what COLL_ALG_AUTO means on this node
 * @collective: collective that the table is for; a v-form has a table of its own
 * @nr: rows, up to COLL_SELECT_ROWS; 0: as without a table
 * @rows: user address of struct coll_select_row[nr], by ascending @bytes; @bytes of the
 *	last row is ~0
 * @flags: enum coll_select_source, which is shown to readers of tables
 *
 * Applies to commands posted from now on. Any local member may set it, for all local members.
 * All nodes need the same tables: if they differ, a command that leaves the choice to them ends
 * with EBADE. If an algorithm does not fit the operator or the type of a command, the command
 * uses the algorithm that COLL_ALG_AUTO means without a table.
 * Errors: EINVAL if there is no such collective or algorithm of it, or sizes do not ascend; EBUSY
 * if an op has been posted and has not ended, and the table differs from the present one; ENOTCONN
 * if the file has not joined; ESHUTDOWN if the group has failed; EFAULT, ENOMEM.
 */
struct coll_select {
	__u32	collective;
	__u32	nr;
	__u64	rows;
	__u64	flags;
	__u64	reserved[2];
};

/**
 * struct coll_stripe - COLL_IOC_STRIPE: how many links a collective may use
 * @links: 1 .. COLL_MAX_LINKS; 1 at first
 * @flags: 0
 * @least: bytes of its vector for which a further link is used; 0: the kernel chooses
 * @reserved: 0
 *
 * Applies to commands posted from now on. Any local member may set it, for all local members. A
 * collective is cut into one part for each @least bytes of its vector (for collectives with
 * blocks: of all blocks together), but into @links parts at most. Part i goes over link i.
 * Collectives whose counts only some of the ranks know go over link 0, and so do barriers
 * and messages. All nodes need the same values: if they differ, a command ends with EBADE. The
 * order in which a sum is folded depends on the number of parts. Errors: EINVAL; EBUSY if
 * an op has been posted and has not ended, and this would change something; ENOTCONN if the file
 * has not joined; ESHUTDOWN if the group has failed. If a link is missing, a command that needs it
 * ends with ENOTCONN.
 */
struct coll_stripe {
	__u32	links;
	__u32	flags;
	__u64	least;
	__u64	reserved[2];
};

/* struct coll_cmd.flags */
#define COLL_CMD_INPLACE	(1U << 0)	/* one buffer for both; see below */
#define COLL_CMD_REG_SEND	(1U << 1)	/* send_addr lies in registered send_buf */
#define COLL_CMD_REG_RECV	(1U << 2)	/* recv_addr lies in registered recv_buf */
/*
 * COLL_IOC_SUBMIT. SPIN: poll for the end for up to 1 ms before sleeping, as long as only other
 * ranks want the CPU. SLEEP: sleep at once. Not both. By io_uring, COLL_CMD_SPIN is for callers
 * that will wait for this command at once: on one node its submission polls for the end for as
 * long as falling asleep takes (module parameter spin_us).
 */
#define COLL_CMD_SPIN		(1U << 3)
#define COLL_CMD_SLEEP		(1U << 4)
/*
 * For reductions: partial results have the type of the elements, even if they may overflow
 * (reductions.rst). Floats of 16 and 8 bits and averages of integers then need fewer bytes. All
 * ranks must set it alike, else EBADE.
 */
#define COLL_CMD_NARROW		(1U << 5)
/* COLL_PROBE, COLL_MPROBE: do not wait; ENOMSG if there is no message */
#define COLL_CMD_NOWAIT		(1U << 6)
/*
 * For allreduce of COLL_F32 by COLL_OP_SUM, COLL_OP_AVG, COLL_OP_MIN, COLL_OP_MAX and
 * COLL_OP_PREMULSUM: elements are COLL_F16 or COLL_BF16 between nodes, and f32 in memory. They
 * are summed in f32. Elements are rounded before they are sent, and so is each result, even if
 * nothing is sent: all ranks get the same bits. The algorithm must sum up each element in one
 * place. Not both flags. EINVAL for anything else. All ranks must set it alike, else EBADE.
 * reductions.rst has the formulas.
 */
#define COLL_CMD_WIRE_F16	(1U << 7)
#define COLL_CMD_WIRE_BF16	(1U << 8)
#define COLL_CMD_WIRE		(COLL_CMD_WIRE_F16 | COLL_CMD_WIRE_BF16)
/*
 * COLL_IOC_SUBMIT by the first local rank, with COLL_FEAT_SHM_NODES: wait until all local ranks
 * have the command in their slots, then post it for each of them; see "Several nodes" below.
 */
#define COLL_CMD_NODE		(1U << 9)

/**
 * struct coll_message - description of a message that was received or found
 * @bytes: length of the message, also if the buffer was too short for it
 * @source: rank that sent it
 * @tag: its tag
 * @dtype: enum coll_dtype it was sent as
 * @reserved: zero
 * @id: COLL_MPROBE: number for struct coll_cmd.matched of COLL_MRECV; else 0
 *
 * Written when a message has been matched or found, before the command completes. For
 * COLL_RANK_NULL it has @bytes 0, that source, COLL_TAG_ANY and COLL_DTYPE_NONE; for COLL_MPROBE
 * also COLL_MESSAGE_NULL.
 */
struct coll_message {
	__u64	bytes;
	__u32	source;
	__u32	tag;
	__u32	dtype;
	__u32	reserved;
	__u64	id;
};

/**
 * struct coll_cmd - one collective, or one message
 * @collective: enum coll_collective
 * @op: enum coll_op_code; COLL_OP_NONE where nothing is reduced
 * @dtype: enum coll_dtype; COLL_DTYPE_NONE for a barrier
 * @algorithm: enum coll_algorithm_id, with COLL_ALG_RADIX() or without
 * @flags: COLL_CMD_*
 * @root: rank, of rooted collectives; destination of a message; else 0
 * @send_addr: input, if this rank has one; see below
 * @recv_addr: output, if it has one. Broadcast has this one buffer only; that of its root is
 *	only read.
 * @count: elements: of the vector (broadcast, reduce, allreduce, scan, exscan), or of one
 *	block (reduce_scatter_block, allgather, gather, scatter, alltoall); 0 where
 *	@counts_addr is given
 * @timeout_ns: deadline counted from now; 0: none. When it passes, the
 *	communicator fails with ETIMEDOUT.
 * @send_buf: registered buffer of @send_addr (COLL_CMD_REG_SEND)
 * @recv_buf: registered buffer of @recv_addr (COLL_CMD_REG_RECV)
 * @counts_addr: __u64[size]: elements of each rank's block: reduce_scatter, allgatherv,
 *	the root of gatherv and scatterv (other ranks give their own in @count), and
 *	alltoallv, where they are __u64[2 * size]: first of the blocks to send, then of
 *	the blocks to receive
 * @displs_addr: in the same form, where each block begins, in elements; 0: one behind the
 *	other. Not for reduce_scatter.
 * @scalar: COLL_OP_PREMULSUM, one element in the low bytes
 * @segment: bytes of the pipelining unit; 0: the kernel chooses
 * @send_tag: tag of the message to send; this and the next five are for messages only, else 0
 * @recv_tag: tag of the message to receive, or COLL_TAG_ANY
 * @source: rank it comes from, COLL_RANK_ANY or COLL_RANK_NULL
 * @recv_dtype: sendrecv: type of the message to receive; 0: @dtype
 * @recv_count: sendrecv: elements that may be received
 * @message_addr: user address of a struct coll_message for the received message; 0: not
 *	wanted
 * @handle: any number, for COLL_IOC_CANCEL; 0: none. All commands may have one
 * @matched: COLL_MRECV: id of the message, from COLL_MPROBE; else 0
 *
 * Buffers, in elements; a rank without one sets its address to 0:
 *
 *	broadcast			recv: count
 *	allreduce, scan, exscan		send, recv: count; exscan leaves rank 0's alone
 *	reduce				send: count; recv, of the root: count
 *	reduce_scatter, _block		send: all blocks; recv: own block
 *	allgather, v			send: own block; recv: all blocks
 *	gather, v			send: own block; recv, of the root: all blocks
 *	scatter, v			send, of the root: all blocks; recv: own block
 *	alltoall, v			send, recv: all blocks
 *
 * In place, the input is at recv_addr, where the output will be: an own block at its place among
 * the blocks, the vector of reduce_scatter at the beginning. The root of a scatter in place has its
 * block in send_addr, and recv_addr 0. In reduce, gather and scatter only the root may work in
 * place. alltoall and reduce_scatter in place copy their input first, into memory that is charged
 * like pinned pages: ENOMEM over the limit.
 *
 * Blocks with displacements: memory between them is not touched, and need not be mapped.
 * Blocks of an output must not overlap each other, nor, except in place, those of the input:
 * EINVAL.
 *
 * Every rank posts its n-th command of the communicator with the same
 * collective, op, dtype, algorithm, count (or counts, where all ranks have them) and
 * root. Counts that only two ranks know are compared when their blocks are sent: EBADE.
 * With @count 0 no memory is accessed;
 * the op still synchronises as its algorithm does. A command that is refused does
 * not count: the next command of a batch takes its place, and the ranks disagree.
 * Ops of a communicator start and end in order, and may run side by side: wait for
 * a command before you post another one that needs its result.
 * Result: 0. Errors before the command is posted, so that it does not count as the n-th one:
 * EINVAL, also for a buffer of more than 256 GiB, without the gaps between blocks; EFAULT;
 * EOPNOTSUPP if the number is known, but not supported for this dtype, or not yet; ENOENT if there
 * is no such registered buffer; ENOMEM, also if too many commands are in flight; ENOTCONN if the
 * file has not joined; EPERM if the caller is not the process that opened the file.
 * Errors after that: see struct coll_cause; they are sticky. One of them is ENOTCONN again: the
 * algorithm needs a link that has not been handed over.
 *
 * Messages. COLL_SEND sends @count elements of @dtype from @send_addr to rank @root
 * with @send_tag. COLL_RECV takes a message from rank @source with @recv_tag, up to
 * @count elements of @dtype, to @recv_addr. COLL_SENDRECV does both at once, and
 * receives up to @recv_count elements of @recv_dtype; with COLL_CMD_INPLACE both use
 * @recv_addr, and the bytes to send are copied first, into memory that is charged like
 * pinned pages. Fields that a command does not use must be 0.
 *
 * A message goes to the receive that was posted first among those that it fits. A receive
 * takes the message that was sent first among those that fit. So messages from one rank to
 * another with the same tag do not overtake each other. A send completes when its memory is
 * free again, which is not before a receive has taken the message: like MPI_Ssend. A rank
 * may send to itself, if it receives by another command that is in flight.
 *
 * Messages are not collectives: they do not count as the n-th command, they do not wait for
 * collectives, and collectives do not wait for them. They complete in any order. But a failure
 * of the communicator ends them, too, and their deadlines can fail the communicator.
 * Errors that end a message on one side: ECANCELED by COLL_IOC_CANCEL; EHOSTDOWN if the partner
 * has left in order, or, for a receive from any rank, if all others have.
 * Errors that end a message on both sides: EMSGSIZE if it is longer than the buffer of the receive;
 * EBADE if the types differ, and neither is COLL_BYTE. No bytes are moved then. Also ENOTCONN,
 * before it is posted, if there is no link to the node of the partner; and EFAULT, at the end, if
 * @message_addr cannot be written.
 *
 * Probes. COLL_PROBE waits until there is a message that a COLL_RECV with the same @source and
 * @recv_tag would take, and describes it in @message_addr. It does not take the message: any
 * receive may take it afterwards. With COLL_CMD_NOWAIT it does not wait: ENOMSG. COLL_MPROBE does
 * the same and takes the message away from all receives: only COLL_MRECV with @matched gets it,
 * once. COLL_MPROBE competes with receives like a receive. The sender cannot cancel the message any
 * more, and sees no other difference. @message_addr is needed. COLL_MRECV is a COLL_RECV without
 * @source and @recv_tag; ENOENT: there is no such message. If a rank leaves or ends before it has
 * received the message, the message is lost: the send ends as if the message had not been
 * probed. With @timeout_ns a probe fails the communicator like a receive.
 */
struct coll_cmd {
	__u16	collective;
	__u16	op;
	__u16	dtype;
	__u16	algorithm;
	__u32	flags;
	__u32	root;
	__u64	send_addr;
	__u64	recv_addr;
	__u64	count;
	__u64	timeout_ns;
	__u32	send_buf;
	__u32	recv_buf;
	__u64	counts_addr;
	__u64	displs_addr;
	__u64	scalar;
	__u64	segment;
	__u32	send_tag;
	__u32	recv_tag;
	__u32	source;
	__u32	recv_dtype;
	__u64	recv_count;
	__u64	message_addr;
	__u64	handle;
	__u64	matched;
};

/**
 * struct coll_sqe - the 16 command bytes of an SQE
 * @arg: user address of a struct coll_cmd; read before io_uring_enter returns
 * @len: its size
 * @flags: must be 0
 *
 * cmd_op is COLL_URING_SUBMIT. One CQE per SQE, res 0 or -errno.
 *
 * With IORING_URING_CMD_FIXED in uring_cmd_flags, the command's buffers (except those with
 * COLL_CMD_REG_SEND or _RECV) lie in the buffer of the ring that buf_index names. That is
 * pinned and charged already. EFAULT if they do not lie in it; EOPNOTSUPP if it belongs to a
 * driver, and does not consist of whole pages. For a command without buffers the flag makes
 * no difference.
 *
 * With COLL_FEAT_TENSORS_URING cmd_op may also be COLL_URING_TENSOR_POST or
 * COLL_URING_TENSOR_WAIT, and @arg the user address of a struct coll_tensor_post or struct
 * coll_tensor_wait, which has to stay there until the CQE. POST: res as of the ioctl; @posted
 * has been written when the CQE comes; until then what @tensors points to must not change, either.
 * WAIT: res is the number of results, 0 to @nr, or -errno; EINTR if the ring ends, or if the process
 * is stopped or frozen: then submit it again. EINVAL with IORING_URING_CMD_FIXED, and if @len is
 * smaller than the struct was when it was first published; E2BIG if @len is larger than a page.
 */
struct coll_sqe {
	__u64	arg;
	__u32	len;
	__u32	flags;
};

/* Most entries of one COLL_IOC_POST, and most completions of one COLL_IOC_COLLECT */
#define COLL_POST_MAX		1024

/**
 * struct coll_post_entry - a command for COLL_IOC_POST
 * @arg: user address of a struct coll_cmd; read before the call returns
 * @len: its size
 * @flags: must be 0
 * @tag: any number; comes back in struct coll_completion
 */
struct coll_post_entry {
	__u64	arg;
	__u32	len;
	__u32	flags;
	__u64	tag;
};

/**
 * struct coll_post - COLL_IOC_POST: post commands, and do not wait for them
 * @entries: user address of struct coll_post_entry[@nr]
 * @nr: 1 .. COLL_POST_MAX
 * @flags: must be 0
 * @reserved: 0
 *
 * For programs that may not use io_uring. Commands are posted in order, until one is
 * refused. Result of the call: how many have been posted. Each of them gets one
 * struct coll_completion. The first one that was not posted gets none, and may be posted
 * again. A signal may end the call early, after the first command. The next command was not
 * refused then: post the rest again.
 * Errors, with none posted: those of a struct coll_cmd before it is posted; EAGAIN if too many
 * commands have not been collected, which count like those in flight; EINVAL; EPERM if the caller
 * is not the process that opened the file; ENOTCONN if the file has not joined.
 */
struct coll_post {
	__u64	entries;
	__u32	nr;
	__u32	flags;
	__u64	reserved[2];
};

/**
 * struct coll_completion - the end of a command of COLL_IOC_POST
 * @tag: that of its struct coll_post_entry
 * @result: 0 or -errno
 * @reserved: 0
 *
 * When it is stored, the outputs of the command and its struct coll_message have been written.
 */
struct coll_completion {
	__u64	tag;
	__s32	result;
	__u32	reserved;
};

/* struct coll_collect.timeout_ns: wait for as long as it takes */
#define COLL_COLLECT_FOREVER	(~(__u64)0)

/**
 * struct coll_collect - COLL_IOC_COLLECT: take completions of COLL_IOC_POST
 * @completions: user address of struct coll_completion[@nr]
 * @nr: room, 1 .. COLL_POST_MAX
 * @min: wait until there are @min, which is at most @nr; 0: do not wait
 * @timeout_ns: longest time to wait; 0: do not wait; or COLL_COLLECT_FOREVER
 * @flags: must be 0
 * @reserved: 0
 *
 * Result of the call: how many completions have been stored, in the order in which the
 * commands completed. It is less than @min when the time is over, when a signal has come, or
 * when no command is in flight that could still complete: so it may be 0.
 * poll() says POLLIN when there are completions.
 * Errors, with none stored: EINVAL; EPERM if the caller is not the process that opened the file;
 * EINTR if a signal handler without SA_RESTART has run (with SA_RESTART the call goes on for the
 * rest of its time, which is then in @timeout_ns); EFAULT; ENOMEM. A completion that could not be
 * stored is not lost.
 */
struct coll_collect {
	__u64	completions;
	__u32	nr;
	__u32	min;
	__u64	timeout_ns;
	__u32	flags;
	__u32	reserved;
};

/* Most bytes of a name. It contains no NUL, and is not terminated by one. */
#define COLL_TENSOR_NAME_MAX		255
#define COLL_TENSOR_DIMS		8
#define COLL_TENSOR_PRIORITY_MAX	1000000
/* Most tensors of one COLL_IOC_TENSOR_POST, and most results of one COLL_IOC_TENSOR_WAIT */
#define COLL_TENSOR_CALL_MAX		65536

/**
 * enum coll_tensor_field - parameters of a tensor on which all ranks must agree
 *
 * They are compared in this order, and the first one that differs is reported.
 *
 * @COLL_FIELD_DTYPE: enum coll_dtype
 * @COLL_FIELD_COLLECTIVE: enum coll_collective
 * @COLL_FIELD_NDIM: number of dimensions, 0 to COLL_TENSOR_DIMS
 * @COLL_FIELD_DIM0: first dimension; 0 if each rank has a length of its own
 * @COLL_FIELD_PRESCALE: bits of the factor for inputs, as f64; 0: 1
 * @COLL_FIELD_POSTSCALE: bits of the factor for results, as f64; 0: 1
 * @COLL_FIELD_OP: enum coll_op_code
 * @COLL_FIELD_ROOT: rank, of rooted collectives
 * @COLL_FIELD_WIRE: COLL_F16 or COLL_BF16 with COLL_CMD_WIRE_F16 or _BF16: the type between
 *	nodes; 0: the type of the tensor
 * @COLL_FIELD_FLAGS: COLL_CMD_NARROW, COLL_FIELD_AVG_PRESENT
 * @COLL_FIELD_PRIORITY: up to COLL_TENSOR_PRIORITY_MAX; higher ones are started first
 * @COLL_FIELD_GROUP: digest of the names of the group it belongs to; 0: it is in none
 * @COLL_FIELD_MEMBERS: tensors of that group
 * @COLL_FIELD_ALGORITHM: as of a command
 * @COLL_FIELD_COUNTS: digest of the counts, where all ranks have them; else 0
 * @COLL_FIELD_TOTAL: sum of these counts; else 0
 */
enum coll_tensor_field {
	COLL_FIELD_DTYPE	= 0,
	COLL_FIELD_COLLECTIVE	= 1,
	COLL_FIELD_NDIM		= 2,
	COLL_FIELD_DIM0		= 3,	/* and the next seven */
	COLL_FIELD_PRESCALE	= 11,
	COLL_FIELD_POSTSCALE	= 12,
	COLL_FIELD_OP		= 13,
	COLL_FIELD_ROOT		= 14,
	COLL_FIELD_WIRE		= 15,
	COLL_FIELD_FLAGS	= 16,
	COLL_FIELD_PRIORITY	= 17,
	COLL_FIELD_GROUP	= 18,
	COLL_FIELD_MEMBERS	= 19,
	COLL_FIELD_ALGORITHM	= 20,
	COLL_FIELD_COUNTS	= 21,
	COLL_FIELD_TOTAL	= 22,
	COLL_NR_FIELDS
};

/* In COLL_FIELD_FLAGS: COLL_TENSOR_AVG_PRESENT */
#define COLL_FIELD_AVG_PRESENT		(1ULL << 32)

/* Why a tensor has ended without being started. */
enum coll_tensor_cause {
	COLL_BAD_NONE		= 0,
	COLL_BAD_MISMATCH	= 1,	/* two ranks disagree about a field */
	COLL_BAD_TIMEOUT	= 2,	/* a deadline passed before all had posted it */
	COLL_BAD_JOINED		= 3,	/* a rank has joined, and this one needs all ranks */
	COLL_BAD_LEFT		= 4,	/* a rank has left */
	COLL_BAD_GROUP		= 5,	/* a rank could not post all of the group */
	COLL_NR_BAD
};

/*
 * struct coll_tensor.flags. JOIN: no collective; the rank posts nothing more until all ranks have
 * joined. All other fields except @tag are 0.
 */
#define COLL_TENSOR_JOIN	(1U << 0)
/* COLL_OP_AVG: divide by the number of ranks that have posted it. All ranks must set it alike. */
#define COLL_TENSOR_AVG_PRESENT	(1U << 1)

/**
 * struct coll_tensor - one named collective
 * @name: user address of its name; the same one on all ranks
 * @name_len: bytes, 1 to COLL_TENSOR_NAME_MAX
 * @cmd_len: size of the command
 * @cmd: user address of the struct coll_cmd of the collective
 * @tag: comes back with the result
 * @priority: up to COLL_TENSOR_PRIORITY_MAX; of the ready tensors, those with a higher one start
 *	first
 * @ndim: dimensions; 0: one, of as many elements as the command says
 * @dims: their product is the count of the command; the rest are 0
 * @flags: COLL_TENSOR_*
 * @members: tensors of the group, 1 to COLL_TENSOR_CALL_MAX; 0: it is in none
 * @group: digest of the names of the group, in an order that is the same on all ranks; 0: it
 *	is in none
 * @prescale: inputs are multiplied by it: bits of an f64; 0: 1. See COLL_IOC_TENSOR_POST
 * @postscale: results are multiplied by it: bits of an f64; 0: 1
 */
struct coll_tensor {
	__u64	name;
	__u32	name_len;
	__u32	cmd_len;
	__u64	cmd;
	__u64	tag;
	__u32	priority;
	__u32	ndim;
	__u64	dims[COLL_TENSOR_DIMS];
	__u32	flags;
	__u32	members;
	__u64	group;
	__u64	prescale;
	__u64	postscale;
};

/**
 * struct coll_tensor_post - COLL_IOC_TENSOR_POST: post named collectives, in any order
 * @tensors: user address of struct coll_tensor[nr]
 * @nr: 1 to COLL_TENSOR_CALL_MAX
 * @size: bytes of each struct coll_tensor
 * @posted: result: how many have been posted
 * @flags: 0
 * @reserved: 0
 *
 * Does not wait. A tensor starts when all ranks have posted its name; all nodes start
 * tensors in the same order. Each posted tensor has one result, see COLL_IOC_TENSOR_WAIT. Until
 * then its memory belongs to the kernel; with the result its output has been written. The n-th
 * posts of a name by all ranks belong together. Messages and
 * gatherv, scatterv and alltoallv cannot be named. timeout_ns of the command: if it
 * passes before the tensor has started, that tensor ends with ETIMEDOUT on all ranks; if it
 * passes later, the communicator fails.
 *
 * A rank that has joined (COLL_TENSOR_JOIN) counts as if it had posted everything, until all
 * have joined. It contributes the identity of the operator to an allreduce, and nothing to a
 * barrier. The tensors that it has posted before go on. Allreduce with COLL_OP_REPLACE and
 * COLL_OP_NO_OP and other collectives need every rank: they end with EOPNOTSUPP and
 * COLL_BAD_JOINED on all ranks. The result of the join comes when all have joined, and the tensors
 * that have started without this rank have ended. It says which rank was the last one; all ranks
 * get the same answer. After it the ranks may post again, or leave.
 *
 * Tensors of one group start together, when all ranks have posted all of them, in any order;
 * if one of them cannot start, all end. If a member is refused, the members that this rank has
 * posted and that have not started are withdrawn: they end with ECANCELED and COLL_BAD_GROUP on all
 * ranks. That member and the members behind it in the same call count as posted, and end in the
 * same way on the other ranks. The call waits until that is settled, for a round trip to the node
 * of rank 0, or 5 s at most. Then the group can be posted again. If this rank has posted a member
 * in an earlier call, and it is pending, no member is posted or refused (EEXIST). If the call ends
 * at another tensor, the groups of which it has posted some members only are refused.
 *
 * Factors are for allreduce of real floats up to 64 bits by COLL_OP_SUM and COLL_OP_AVG, without
 * COLL_CMD_NARROW; else EOPNOTSUPP. They are finite, and neither 0 nor too large or too small for
 * the type in which partial results are summed: f32 for f32 and smaller types, else f64. They are
 * rounded to that type. An input is multiplied before it is summed, a result after the last step
 * of the sum or average, and before it is rounded to a smaller type. With @prescale the partial
 * results of an average have no larger type: it may overflow like a sum.
 *
 * A signal may end the ioctl before all are posted, as soon as one is, unless it has posted a member
 * of a group. Post the rest again.
 *
 * Errors: the first error ends the call. @posted says how many were posted before it; these stay
 * posted, except for members of groups that are refused. EBUSY if this rank has joined, and not all
 * have, or if it joins before the last join has ended; EEXIST if this rank has posted the name and
 * it has not started; ENOSPC if there are too
 * many names; EAGAIN if too many results have not been collected; EOVERFLOW if the shape is too
 * large; ENOTCONN also if there is no link to a node that this one has to talk to; EOPNOTSUPP also
 * without COLL_JOIN_NAMED; else as struct coll_cmd.
 */
struct coll_tensor_post {
	__u64	tensors;
	__u32	nr;
	__u32	size;
	__u32	posted;
	__u32	flags;
	__u64	reserved[2];
};

/**
 * struct coll_tensor_result - how a tensor has ended
 * @tag: as posted
 * @result: 0 or -errno. EBADE with @cause COLL_BAD_MISMATCH, ETIMEDOUT with COLL_BAD_TIMEOUT,
 *	EOPNOTSUPP with COLL_BAD_JOINED, ECANCELED with COLL_BAD_GROUP end this tensor, and its
 *	group, only. With COLL_BAD_NONE an error is the communicator's, see COLL_IOC_STATUS, or
 *	EFAULT: a small result could not be stored.
 * @cause: enum coll_tensor_cause
 * @field: COLL_BAD_MISMATCH: enum coll_tensor_field
 * @reserved: 0
 * @rank: COLL_BAD_MISMATCH: two ranks that disagree. COLL_BAD_TIMEOUT, COLL_BAD_GROUP: the first
 *	one is the rank whose deadline has passed, or that has withdrawn it. COLL_TENSOR_JOIN: the
 *	first one is the last rank that has joined.
 * @value: COLL_BAD_MISMATCH: what each of them has in @field
 */
struct coll_tensor_result {
	__u64	tag;
	__s32	result;
	__u32	cause;
	__u32	field;
	__u32	reserved;
	__u32	rank[2];
	__u64	value[2];
};

/**
 * struct coll_tensor_wait - COLL_IOC_TENSOR_WAIT: collect results
 * @results: user address of struct coll_tensor_result[nr]
 * @nr: 1 to COLL_TENSOR_CALL_MAX
 * @min: wait for @min results, or until all posted tensors have ended; 0: do not wait
 * @timeout_ns: longest time to wait; 0: no limit
 * @got: result: number of results that have been stored
 * @flags: 0
 * @post: user address of a struct coll_tensor_post: post these tensors first. Set to 0 before
 *	that, so that a call that is restarted does not post again; 0: post nothing. With
 *	COLL_FEAT_TENSOR_POST_WAIT, and not by io_uring
 * @post_size: sizeof(struct coll_tensor_post); ignored without @post
 * @reserved: 0
 *
 * If a tensor of @post is refused, or a signal ends the post before all are posted, the call ends
 * there as COLL_IOC_TENSOR_POST does, and does not wait.
 *
 * Each result is stored once, in the order in which they came. Errors: ETIMEDOUT if none came in
 * time; EINTR if a signal handler without SA_RESTART has run (else the call is restarted for the rest of
 * its time, which is then in @timeout_ns); ENOTCONN if the file has not joined; EOPNOTSUPP without COLL_JOIN_NAMED; EPERM
 * if the caller is not the process that opened the file.
 */
struct coll_tensor_wait {
	__u64	results;
	__u32	nr;
	__u32	min;
	__u64	timeout_ns;
	__u32	got;
	__u32	flags;
	__u64	post;
	__u32	post_size;
	__u32	reserved;
};

/* Most tensors of a fusion, and most bytes of a fusion. */
#define COLL_TENSOR_FUSE_MAX	256
#define COLL_TENSOR_FUSE_BYTES	(64ULL << 20)

/**
 * struct coll_tensor_fuse - COLL_IOC_TENSOR_FUSE: which tensors become one op
 * @threshold: most bytes of a fusion; 0: nothing is fused. More than
 *	COLL_TENSOR_FUSE_BYTES counts as that. 4 MiB at first
 * @most: most tensors of a fusion; 0, or more than COLL_TENSOR_FUSE_MAX, counts as that
 * @ahead: most tensors that one fusion passes over because they do not fit;
 *	0, or more than the kernel allows: as many as it allows
 * @flags: 0
 * @reserved: 0
 *
 * Tensors that start together, that all ranks have posted, and whose collective, operator,
 * type, flags, algorithm and priority are the same, may become one op. It works on the memory
 * of the tensors, and each tensor ends by itself. Results have the same bits, fused or not.
 * COLL_ALLREDUCE is fused, and COLL_ALLGATHER and COLL_REDUCE_SCATTER_BLOCK of up to 64 ranks.
 * COLL_OP_PREMULSUM, COLL_OP_REPLACE and COLL_OP_NO_OP are not fused. With several nodes these
 * allreduces are not fused: with COLL_OP_SUM_EXACT, over several links, or with more than 512 KiB
 * of partial results. Partial results of sums, products and averages of floats of 16 and 8 bits are
 * f32 without COLL_CMD_NARROW: the limit is 256 KiB of f16 and bf16, and 128 KiB of f8e4m3 and
 * f8e5m2. @threshold counts the bytes that a rank contributes; for COLL_REDUCE_SCATTER_BLOCK, those
 * of its result.
 *
 * Applies to tensors that become ready from now on. Any member may set it, but only the values
 * that a member of the node of rank 0 has set take effect. Errors: EINVAL; ENOTCONN if the
 * file has not joined; EOPNOTSUPP without COLL_JOIN_NAMED.
 */
struct coll_tensor_fuse {
	__u64	threshold;
	__u32	most;
	__u32	ahead;
	__u64	flags;
	__u64	reserved;
};

/*
 * Shared memory of the ranks of a node. Small collectives can be done in it without a system
 * call; libcoll_user does so. It holds, at offsets that struct coll_shm_header tells:
 *
 *	struct coll_shm_header
 *	struct coll_shm_rank	one for each local rank
 *	an area			one for each local rank: struct coll_shm_area, then
 *				COLL_SHM_SLOTS slots, each a struct coll_shm_slot and data
 *
 * The kernel writes the header and the struct coll_shm_rank. Each rank writes its own area,
 * and no other one. A rank reads the areas of all. It must never take a number from the
 * area of another rank for a length or an index. It may use @written for a length if that is
 * limited by the length that its own command says.
 *
 * Every op of a communicator has a position, which is the same on all ranks: 1 + the ops
 * that this rank has done in shared memory + its @posted. A rank does the op at position p
 * in shared memory as follows. It begins only if its @posted and @completed are equal, and then
 * @failed of the header is 0: another rank may still read the slots of an op before one that
 * has failed. It may begin an op before earlier ones have ended, but only if all up to
 * p - COLL_SHM_DEPTH have: then no rank reads the slots of p - COLL_SHM_SLOTS any more. While
 * one that it has begun here has not ended it gives no later one to the kernel.
 *
 * 1. It writes to its slot p % COLL_SHM_SLOTS what the op is, and its input, then, with release,
 *    @pos = p. Parts of the input that no other rank reads may be left out. If the input is
 *    large, it may write what the op is, 0 to @written of its area, then, with release,
 *    @writing = p, and then, with release, to @written how many bytes are there so far. Another
 *    rank that finds p in @writing may copy that many bytes to its output at once, unless the
 *    output is an input as well: the op may still go to the kernel.
 * 2. It waits until @pos of that slot of each rank is p. Then the op is the same on all
 *    ranks if the slots say so, and the inputs of all may be read.
 * 3. If another rank has more @posted than it has itself, and @pos of that rank is
 *    not p (in this order), that rank has given this op to the kernel. So has one that has
 *    @left. And where two slots say different things, the ranks disagree. In each of these
 *    cases all ranks come to the same conclusion, and give the op to the kernel by
 *    COLL_IOC_SUBMIT: it completes there, or fails with the right cause.
 * 4. If it waits for long, it stores @sleeps = p, and after a full barrier calls
 *    COLL_IOC_SHM_WAIT. A rank that has found 2. to be so, looks at @sleeps of the others after a
 *    full barrier behind its own step 1, and calls COLL_IOC_SHM_WAKE if one is p.
 *
 * When @failed of the header is not 0, the communicator has failed with that errno.
 *
 * Several nodes (COLL_FEAT_SHM_NODES): the kernel does all ops, but one system call is enough for
 * all ranks of a node. The position of an op is then the @posted of a rank + 1. In step 1 the
 * whole input is written, and @writing is not used. Then the first local rank calls
 * COLL_IOC_SUBMIT with COLL_CMD_NODE. The kernel waits for step 2, copies the inputs from the
 * slots, and posts the op for each rank: @posted of all ranks grows. EINTR: a signal came before
 * that. When the op has ended, the kernel writes the result of each rank but the first to the
 * data of its slot, then @result, then p to @finished, with release. Step 3 holds as long as the
 * own @posted is less than p. Before another rank than the first one gives the op to the kernel
 * itself, it stores 0 in @pos and calls COLL_IOC_SHM_WAKE. If its own @posted is p then, the first
 * rank was just posting the op, and this rank waits for the end. In step 4 the first rank calls
 * COLL_IOC_SUBMIT when it wants to sleep, and the other ranks set COLL_SHM_WAIT_FINISHED.
 *
 * Not with several nodes: exscan, collectives whose ranks have counts, and COLL_CMD_WIRE.
 */
#define COLL_SHM_MAGIC		0x4d48534cU
#define COLL_SHM_VERSION	2
/* Ops that a rank may have begun, none of which has ended. */
#define COLL_SHM_DEPTH		4
#define COLL_SHM_SLOTS		(2 * COLL_SHM_DEPTH)
/* Local ranks at most; a node with more has none. */
#define COLL_SHM_RANKS		64
/* Threads of a rank that may sleep at a time. */
#define COLL_SHM_SLEEPERS	8

/**
 * struct coll_shm_header - at offset 0
 * @magic: COLL_SHM_MAGIC
 * @version: COLL_SHM_VERSION
 * @nr_local: ranks of the node
 * @spin_us: microseconds that a waiting rank should poll before it sleeps
 * @rank_offset: of the first struct coll_shm_rank
 * @rank_size: from one to the next
 * @area_offset: of the first area
 * @area_size: from one to the next, a multiple of the page size
 * @slot_offset: of the first slot, in an area
 * @slot_size: from one to the next
 * @data_size: bytes of data that a slot has room for
 * @active: 1: all local ranks have mapped their areas
 * @failed: 0, or the errno with which the communicator has failed, positive
 * @reserved: 0
 */
struct coll_shm_header {
	__u32	magic;
	__u32	version;
	__u32	nr_local;
	__u32	spin_us;
	__u32	rank_offset;
	__u32	rank_size;
	__u32	area_offset;
	__u32	area_size;
	__u32	slot_offset;
	__u32	slot_size;
	__u32	data_size;
	__u32	active;
	__u32	failed;
	__u32	reserved[3];
};

/**
 * struct coll_shm_rank - what the kernel tells about a local rank
 * @posted: collectives that it has given to the kernel
 * @completed: of these, how many have ended
 * @left: 1: it posts no more
 * @rank: its rank
 * @finished: position of the last op that another rank has posted for it, and that has ended
 * @result: 0, or the errno of that op, positive
 * @reserved: 0
 */
struct coll_shm_rank {
	__u64	posted;
	__u64	completed;
	__u32	left;
	__u32	rank;
	__u64	finished;
	__u32	result;
	__u32	reserved;
	__u64	reserved2[3];
};

/**
 * struct coll_shm_area - the beginning of the area of a rank
 * @sleeps: position that it sleeps for, in COLL_IOC_SHM_WAIT; 0: it does not
 * @writing: position of the last op whose input may be read before @pos of the slot is set
 * @written: bytes of that input which have been written, with those that are left out
 * @reserved: 0
 * @ops: ops it has done in shared memory; for status
 * @bytes: bytes of their vectors
 * @reserved2: 0
 */
struct coll_shm_area {
	__u64	sleeps;
	__u64	writing;
	__u64	written;
	__u64	reserved[5];
	__u64	ops;
	__u64	bytes;
	__u64	reserved2[6];
};

/* struct coll_shm_slot.flags: COLL_CMD_NARROW */
#define COLL_SHM_NARROW		(1U << 0)

/**
 * struct coll_shm_slot - one rank's part in an op; data follows
 * @pos: position of the op, written last
 * @collective: enum coll_collective
 * @op: enum coll_op_code
 * @dtype: enum coll_dtype
 * @flags: COLL_SHM_*
 * @root: as of a command
 * @count: as of a command; where blocks have counts of their own, what libcoll_user makes of them
 * @scalar: as of a command; may differ between ranks
 */
struct coll_shm_slot {
	__u64	pos;
	__u8	collective;
	__u8	op;
	__u8	dtype;
	__u8	flags;
	__u32	root;
	__u64	count;
	__u64	scalar;
};

/**
 * struct coll_shm - COLL_IOC_SHM: give this rank an area in the shared memory of its node
 * @flags: 0
 * @local: result: number of this rank among those of the node
 * @size: result: bytes of all
 * @own_offset: result: where the own area begins
 * @own_size: result: its bytes
 * @reserved: 0
 *
 * Memory is charged to the caller, other than pages that no rank has touched: these are charged
 * to the process that touches them first. When all local ranks have called it, mmap() of the file
 * maps any part of [0, @size) with PROT_READ, and of the own area also with PROT_WRITE.
 * Offsets are those in the shared memory; MAP_SHARED is needed. A child does not inherit the
 * mapping. Errors of mmap(): EAGAIN until all local ranks have called COLL_IOC_SHM; EACCES for
 * PROT_WRITE beyond the own area, or PROT_EXEC; EINVAL without MAP_SHARED, or for a part beyond
 * @size; EPERM if the caller is not the process that opened the file; ENODEV before COLL_IOC_SHM.
 * Errors: EINVAL; ENOTCONN if the file has not joined; EOPNOTSUPP if there is no shared memory:
 * with named collectives, one local rank or more than COLL_SHM_RANKS, or module
 * parameter shm=0; ESHUTDOWN if the group has failed; EFAULT, ENOMEM.
 */
struct coll_shm {
	__u32	flags;
	__u32	local;
	__u64	size;
	__u64	own_offset;
	__u64	own_size;
	__u64	reserved[2];
};

/* struct coll_shm_wait.flags: @timeout_ns ends this call only, with ETIME */
#define COLL_SHM_WAIT_LOOK	(1ULL << 0)
/* with several nodes: wait for the end of the op, which the first local rank posts */
#define COLL_SHM_WAIT_FINISHED	(1ULL << 1)

/**
 * struct coll_shm_wait - COLL_IOC_SHM_WAIT: sleep until an op in shared memory can go on
 * @pos: its position
 * @timeout_ns: when that is over the communicator fails with ETIMEDOUT; 0: never
 * @posted: collectives that this rank had given to the kernel when it began the op
 * @flags: COLL_SHM_WAIT_*
 *
 * Result: 0 when all local ranks have @pos in their slots; when one of them has more than
 * @posted, or has left; when this rank has a later position in that slot, as another thread has ended
 * the op; when the communicator has failed. With COLL_SHM_WAIT_FINISHED: 0 when the
 * number in @finished of this rank is @pos; and, while its own @posted is less than @pos, also in
 * the last three cases.
 * Errors: EINVAL, also if @posted is more than there are; EINTR; ETIME with COLL_SHM_WAIT_LOOK;
 * ETIMEDOUT if the communicator has failed because @timeout_ns of this call was over, but not if
 * another rank had posted the op for this one: its end is in @result of this rank then;
 * EBUSY if COLL_SHM_SLEEPERS threads of this rank are in this call; ENOMEM; EPERM if the caller is
 * not the process that opened the file; ENOTCONN if there is no shared memory.
 */
struct coll_shm_wait {
	__u64	pos;
	__u64	timeout_ns;
	__u64	posted;
	__u64	flags;
};

#define COLL_IOC_MAGIC		0xCB
#define COLL_IOC_VERSION	_IOR(COLL_IOC_MAGIC, 0x00, struct coll_version)
#define COLL_IOC_JOIN		_IOW(COLL_IOC_MAGIC, 0x01, struct coll_join)
#define COLL_IOC_LINK		_IOW(COLL_IOC_MAGIC, 0x02, struct coll_link_add)
#define COLL_IOC_REGISTER	_IOWR(COLL_IOC_MAGIC, 0x03, struct coll_register)
#define COLL_IOC_UNREGISTER	_IOW(COLL_IOC_MAGIC, 0x04, struct coll_unregister)
#define COLL_IOC_ABORT		_IOW(COLL_IOC_MAGIC, 0x05, struct coll_abort)
#define COLL_IOC_STATUS		_IOR(COLL_IOC_MAGIC, 0x07, struct coll_status)
#define COLL_IOC_SELECT		_IOW(COLL_IOC_MAGIC, 0x08, struct coll_select)
#define COLL_IOC_STRIPE		_IOW(COLL_IOC_MAGIC, 0x09, struct coll_stripe)
#define COLL_IOC_CANCEL		_IOWR(COLL_IOC_MAGIC, 0x0a, struct coll_cancel)
#define COLL_IOC_TENSOR_POST	_IOWR(COLL_IOC_MAGIC, 0x0b, struct coll_tensor_post)
#define COLL_IOC_TENSOR_WAIT	_IOWR(COLL_IOC_MAGIC, 0x0c, struct coll_tensor_wait)
#define COLL_IOC_TENSOR_FUSE	_IOW(COLL_IOC_MAGIC, 0x0d, struct coll_tensor_fuse)
#define COLL_IOC_SHM		_IOWR(COLL_IOC_MAGIC, 0x0e, struct coll_shm)
#define COLL_IOC_SUBMIT		_IOW(COLL_IOC_MAGIC, 0x10, struct coll_cmd)
#define COLL_IOC_POST		_IOW(COLL_IOC_MAGIC, 0x11, struct coll_post)
#define COLL_IOC_COLLECT	_IOWR(COLL_IOC_MAGIC, 0x12, struct coll_collect)
#define COLL_IOC_SHM_WAIT	_IOW(COLL_IOC_MAGIC, 0x13, struct coll_shm_wait)
/*
 * Wake all ranks in COLL_IOC_SHM_WAIT, to check again. If this rank has withdrawn its slot before,
 * no other rank posts the op for it after this call. Errors: EPERM, ENOTCONN as there.
 */
#define COLL_IOC_SHM_WAKE	_IO(COLL_IOC_MAGIC, 0x14)

/* io_uring cmd_op values: encoded as ioctls, so that they differ from those of other files */
#define COLL_URING_SUBMIT	_IOW(COLL_IOC_MAGIC, 0x20, struct coll_sqe)
#define COLL_URING_TENSOR_POST	_IOW(COLL_IOC_MAGIC, 0x21, struct coll_sqe)
#define COLL_URING_TENSOR_WAIT	_IOW(COLL_IOC_MAGIC, 0x22, struct coll_sqe)

#endif /* _UAPI_LINUX_COLL_H */
