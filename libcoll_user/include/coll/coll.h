/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libcoll: collective communication through /dev/coll.
 *
 * Every function returns 0 or a negative errno unless it says otherwise. It returns -EINVAL if the
 * communicator is NULL, or a pointer for a result that may not be NULL. The library never ends the
 * process. It prints nothing unless COLL_DEBUG is set, with one exception: sessions (iterate.h)
 * show their progress on a terminal.
 *
 * Counts are in elements, lengths in bytes, timeouts in the unit that their name ends with. All
 * ranks call the collectives of one communicator in the same order with the same count, type,
 * operator and root. The calls of one thread are in the order in which it makes them, whether they
 * block or not. Several threads may use one communicator if they keep that order among themselves:
 * a collective may wait until that of another thread is over. A thread may not leave a call by
 * pthread_cancel() or longjmp(): other threads might wait for it without end.
 *
 * Signal handlers, and the function of coll_comm_set_idle(), must not call collectives, nor send or
 * receive messages, nor start or wait for nonblocking calls: these may wait without end for a lock
 * of the thread that was interrupted. The library finds only one such case: a collective fails with
 * EDEADLK if its own thread is in a blocking collective of the same communicator, and that is done
 * in shared memory.
 *
 * A forked child has no part in the communicators of its parent: calls return EPERM, also those for
 * requests, which go on in the parent. coll_finalize() frees the copies of the child.
 *
 * A collective that fails ends the communicator: all ranks get the error, and so do all later
 * calls. EHOSTDOWN if a rank or host is dead; ESHUTDOWN if the communicator was aborted; ETIMEDOUT
 * if a deadline passed; ECANCELED if this rank cancelled it; EPROTO if a peer broke the protocol;
 * EBADE if the ranks disagree on the call. coll_comm_status() says what happened first. EINVAL,
 * EOPNOTSUPP and EAGAIN are of one call, and leave the communicator as it was. EFAULT and ENOMEM
 * may be of one call. They, and ENOTCONN, may also have ended the communicator: coll_comm_status()
 * tells which.
 */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

struct io_uring_sqe;

/** A communicator: this process as one rank of it. */
typedef struct coll_comm coll_comm_t;
/** A nonblocking collective under way. */
typedef struct coll_request coll_request_t;

/** As send buffer: the input is in the receive buffer. */
#define COLL_IN_PLACE	((const void *)-1)

/** struct coll_config.flags: nonblocking calls by ioctl, not by io_uring */
#define COLL_CONFIG_NO_URING	(1U << 0)

/**
 * coll_exchange_t - the application's own way to bring ranks together
 * @ctx: coll_config.exchange_ctx
 * @mine: @len bytes of this rank
 * @all: to be filled with those of all ranks, in their order: size * @len bytes
 * @timeout_ms: what is left of coll_config.timeout_ms; may be ignored by a function that ends
 *	by itself when a rank is missing
 *
 * An allgather, such as MPI_Allgather() of bytes. The data contains the secret of the job.
 * Return: 0 or a negative errno.
 */
typedef int (*coll_exchange_t)(void *ctx, const void *mine, void *all, size_t len,
			       uint32_t timeout_ms);

/**
 * struct coll_config - who we are and how to find the others
 * @struct_size: set by coll_config_init(); lets the struct grow
 * @rank: 0 .. @size-1
 * @size: ranks in all; with 1 the fields down to @key are not looked at
 * @rendezvous: "host:port" or "[v6]:port" where rank 0 listens during coll_init; with
 *	"host:first-last" it takes the first port that is free, and the others find it
 * @node: ranks with equal @node in one kernel form a node; NULL is ""; at most
 *	63 bytes
 * @key: secret of the job, proved and never sent; any length but 0. It should
 *	be random: a short key can be guessed from a recorded handshake.
 * @device: NULL is "/dev/coll"
 * @timeout_ms: for all of coll_init; 0 is 60000
 * @flags: COLL_CONFIG_*
 * @exchange: instead of @rendezvous: rank 0 listens at any port, and one call of this tells
 *	the others where. @key may be NULL then: rank 0 draws it, and tells it, too. Called by
 *	all ranks during coll_init(), in the calling thread.
 * @exchange_ctx: handed to it
 *
 * Strings are used during coll_init() only.
 */
struct coll_config {
	size_t		struct_size;
	uint32_t	rank;
	uint32_t	size;
	const char	*rendezvous;
	const char	*node;
	const char	*key;
	const char	*device;
	uint32_t	timeout_ms;
	uint32_t	flags;
	coll_exchange_t	exchange;
	void		*exchange_ctx;
};

/** coll_config_init() - a communicator of one rank, to be filled in */
static inline void coll_config_init(struct coll_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->struct_size = sizeof(*cfg);
	cfg->size = 1;
}

/**
 * coll_config_env() - fill in from the environment
 * @cfg: after coll_config_init()
 *
 * COLL_RANK, COLL_SIZE, COLL_RENDEZVOUS, COLL_NODE, COLL_KEY, COLL_DEVICE,
 * COLL_TIMEOUT_MS, COLL_NO_URING=1. (COLL_PORTS is read whenever a rank listens.) Without
 * COLL_RANK and COLL_SIZE the launcher is asked:
 * PMIx (mpirun of Open MPI, prterun, srun --mpi=pmix), PMI (mpirun of MPICH, srun --mpi=pmi2,
 * Flux), torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). Without any of them this is
 * a communicator of one rank. Under PMIx and PMI exchange is set, for coll_init() alone.
 *
 * A launcher that is there and gives no way to meet is an error: ranks that each believe to
 * be alone would all report success on the wrong result.
 *
 * Errors: EINVAL if variables are missing, are no numbers or are out of range, or as just said;
 * EOPNOTSUPP or ELIBACC if this libcoll, or this host, has no PMIx. coll_last_error() names the
 * variable.
 */
int coll_config_env(struct coll_config *cfg);

/**
 * coll_init() - join a communicator
 * @cfg: NULL: from the environment
 * @comm: result
 *
 * Returns when every rank has joined, all connections are made, and, with several nodes,
 * algorithms have been chosen by measuring (see coll_comm_set_algorithm()). After failures that
 * may be temporary it tries again until timeout_ms: a name cannot be resolved yet, rank 0 does not
 * listen yet, a rank left before all were there. If it fails on a rank, all ranks get the error of
 * that rank; but if that rank has not reached rank 0, the others get ETIMEDOUT, or EKEYREJECTED or
 * EINVAL if it had another key or @size. coll_last_error() has details.
 *
 * Errors: EINVAL if the configuration is wrong; ENOENT if there is no device (is the module
 * loaded?); EACCES if the device may not be opened; EKEYREJECTED if keys differ; EEXIST if the
 * rank is taken; EPROTO or EPROTONOSUPPORT if another program listens at the rendezvous;
 * ETIMEDOUT; ECONNREFUSED, EHOSTUNREACH or ENETUNREACH if rank 0 was not reached until timeout_ms,
 * for that reason; EHOSTDOWN if a rank went away meanwhile; EXDEV if ranks seem to share a kernel
 * and do not: give them different @node; those of socket calls and of COLL_IOC_JOIN and
 * COLL_IOC_LINK.
 */
int coll_init(const struct coll_config *cfg, coll_comm_t **comm);

/**
 * coll_last_error() - one line about why a call failed, for people
 *
 * As "rank 3 has not come; 10.0.0.7:41200, as rank 5, has another key", or "COLL_RANK is "4",
 * not a number from 0 to 3". It is about the last coll_init(), coll_config_env() or
 * coll_comm_split() of the calling thread; "" if there is nothing to add to coll_strerror().
 * Valid until the thread's next call.
 */
const char *coll_last_error(void);

/** coll_init_error() - the older name of coll_last_error() */
const char *coll_init_error(void);

/**
 * coll_finalize() - leave, and free everything
 * @comm: NULL is allowed
 *
 * Receives that nothing has come for are cancelled, as by coll_cancel(), also those of
 * sendrecv. Waits for all other nonblocking calls that are still under way (a send that
 * nobody is going to receive has to be cancelled before), and frees their requests too, but
 * for those of prepared collectives: they end by coll_request_free(), before this. Also right
 * after a failure. A forked child does not wait, and its parent does not notice. If the effective
 * uid has changed since coll_init(), receives cannot be cancelled: if nothing comes for a second,
 * the communicator ends with them, on all ranks.
 */
int coll_finalize(coll_comm_t *comm);

/** As color: this rank is to be in none of the new communicators. */
#define COLL_UNDEFINED	INT32_MIN

/**
 * coll_comm_split() - make communicators of parts of one, as MPI_Comm_split
 * @color: 0 or more: ranks with the same color form one; or COLL_UNDEFINED
 * @key: they are numbered in the order of (@key, rank in @comm)
 * @newcomm: result; NULL for COLL_UNDEFINED, and after an error
 *
 * A collective of @comm: all ranks call it, in order with their other collectives on
 * @comm. The results are communicators by themselves: they have a file and failures of
 * their own, can be used at the same time as @comm and each other, in any order, though
 * they use its connections; can be split again, and may outlive @comm; each is ended by
 * coll_finalize(). The deadline of coll_comm_set_timeout() is that of @comm at the moment. What
 * coll_comm_set_narrow(), coll_comm_set_wire() and coll_comm_set_idle() have set is not taken over:
 * set it again.
 *
 * Time: the others have to call within the deadline of @comm's collectives, and within
 * the timeout_ms of coll_init(); else @comm fails with ETIMEDOUT, as in any collective.
 * From then on it takes timeout_ms at most.
 *
 * A failure on one rank ends the call on all ranks of @comm with the same error, in all colors;
 * @comm can be used as before, unless it is @comm that has failed. Errors: EINVAL if a rank has
 * another negative color, or @newcomm is NULL there; ENOMEM; ETIMEDOUT if there is no connection
 * in time; those of collectives of @comm, of open(), of socket calls, of COLL_IOC_JOIN (EMFILE if
 * there are too many communicators) and of COLL_IOC_LINK.
 */
int coll_comm_split(coll_comm_t *comm, int32_t color, int32_t key, coll_comm_t **newcomm);

/** coll_comm_dup() - one more communicator of the same ranks; else as coll_comm_split() */
int coll_comm_dup(coll_comm_t *comm, coll_comm_t **newcomm);

/**
 * Rank of this process, ranks in all, node of this rank, nodes in all. Nodes are numbered as
 * they stand in schedules: by their first ranks, or as COLL_ORDER says.
 */
uint32_t coll_comm_rank(const coll_comm_t *comm);
uint32_t coll_comm_size(const coll_comm_t *comm);
uint32_t coll_comm_node(const coll_comm_t *comm);
uint32_t coll_comm_nodes(const coll_comm_t *comm);

/** Node of another rank; COLL_RANK_NONE if there is no such rank. */
uint32_t coll_comm_node_of(const coll_comm_t *comm, uint32_t rank);

/** The open /dev/coll, for rings that prefer registered files. */
int coll_comm_fd(const coll_comm_t *comm);

/**
 * coll_comm_set_timeout() - deadline of later collectives
 * @ns: nanoseconds from the call of each; 0 (the default): none
 *
 * A prepared collective (coll_persist(), coll_X_init()) keeps the deadline that was set when it
 * was prepared. If a deadline passes, the communicator fails. This is also so if the kernel has not
 * taken a nonblocking collective yet, because it lacks memory (the library tries again until then)
 * or because the collective waits in the library for earlier ones: this rank gets -ETIMEDOUT, and
 * the others get the error of coll_abort().
 */
int coll_comm_set_timeout(coll_comm_t *comm, uint64_t ns);

/**
 * typedef coll_idle_fn - called while a blocking call waits
 * @arg: as given
 * @waited_ns: how long the call has waited
 *
 * It must return soon, and must not use the communicator.
 *
 * Return: nanoseconds until it is to be called again.
 */
typedef uint64_t coll_idle_fn(void *arg, uint64_t waited_ns);

/**
 * coll_comm_set_idle() - have a function called while later blocking calls wait
 * @fn: called for the first time when a call has waited for a moment; NULL: none
 * @arg: of @fn
 *
 * For applications with another engine that makes progress only when it is called, such as an
 * MPI. It is called in the thread that waits, by collectives and coll_submit(). For other waits
 * use coll_wait_for(). Set it when no call is under way.
 */
void coll_comm_set_idle(coll_comm_t *comm, coll_idle_fn *fn, void *arg);

/**
 * coll_comm_set_narrow() - may partial results overflow, for the sake of speed?
 * @narrow: later reductions pass partial results on in the type of the elements
 *	(COLL_CMD_NARROW); false, the default: in a wider type, if the result may depend on that
 *
 * It makes a difference to sums, products and premulsums of f16, bf16, f8e4m3 and f8e5m2,
 * and to averages: see Documentation/reductions.rst. All ranks alike, or such a collective
 * ends with EBADE. Commands that are filled in by hand have the flag themselves.
 * Errors: EOPNOTSUPP if the module does not support it.
 */
int coll_comm_set_narrow(coll_comm_t *comm, bool narrow);

/**
 * coll_comm_set_wire() - smaller elements between nodes
 * @type: COLL_F16 or COLL_BF16: later allreduces of COLL_F32 by sum, avg, min, max and premulsum
 *	send that type between nodes (COLL_CMD_WIRE_F16, COLL_CMD_WIRE_BF16), and sum in f32;
 *	COLL_DTYPE_NONE, the default: they send f32
 *
 * Results are rounded to @type: see Documentation/reductions.rst. All ranks alike, or such a
 * collective ends with EBADE. Other collectives, types and operators are as before.
 * Errors: EINVAL for another type; EOPNOTSUPP if the module does not support it.
 */
int coll_comm_set_wire(coll_comm_t *comm, enum coll_dtype type);

/*
 * Algorithms. A command that leaves its algorithm open (COLL_ALG_AUTO, as all calls
 * below do) takes what a table of the communicator says for its collective and size. With
 * several nodes coll_init() fills the tables by measuring; the environment of rank 0 can
 * forbid that or fix algorithms, see Documentation/library.rst. The next three are
 * collectives: all ranks call them, in order with other collectives, when none of those
 * is under way.
 */

/**
 * coll_comm_set_algorithm() - one algorithm for all sizes
 * @what: the collective; a v-form is a collective of its own
 * @name: an algorithm, like "ring", or "knomial:8" with a radix; NULL: as without any table
 *
 * Errors, which all ranks get, and which change nothing: EINVAL if there is no algorithm of that
 * name; EBUSY if a rank has a collective under way.
 */
int coll_comm_set_algorithm(coll_comm_t *comm, enum coll_collective what, const char *name);

/** coll_comm_select() - set a table: see struct coll_select; at most 24 rows */
int coll_comm_select(coll_comm_t *comm, enum coll_collective what,
		     const struct coll_select_row *rows, uint32_t nr);

/**
 * coll_comm_tune() - measure again, all collectives
 * @ms: how long algorithms may be timed. The time to measure transfers comes on top. A longer
 *	time allows for larger vectors. At most half of the time that is left until the deadline
 *	is used, on the rank where it is shortest: the deadline of coll_comm_set_timeout() is
 *	for the whole call.
 *
 * Algorithms that the environment has fixed stay. Errors: EOPNOTSUPP if the module cannot do it
 * or there are more than 128 nodes; those of collectives. If a rank cannot set the new tables, all
 * ranks keep the old ones; if one cannot do that either, the communicator is aborted.
 */
int coll_comm_tune(coll_comm_t *comm, uint32_t ms);

/**
 * coll_comm_save_tables() - keep the tables in a file, for these hosts
 * @path: file to make or to change. Tables of other hosts in it stay. COLL_SELECT may name it.
 *
 * Not a collective: any one rank calls it. The file is replaced by rename(). Errors: ENODATA if
 * there are no tables; EINVAL if the file exists and cannot be parsed; those of open(), write() and
 * rename().
 */
int coll_comm_save_tables(coll_comm_t *comm, const char *path);

/**
 * coll_comm_load_tables() - take the tables of these hosts from a file
 * @path: on rank 0, whose file is read
 *
 * A collective, as the three above. Errors, which all ranks get, and which change nothing, or abort
 * the communicator as those of coll_comm_tune(): ENODATA
 * if the file has no tables for these hosts; EINVAL if it cannot be parsed (COLL_DEBUG=1 says
 * where); those of open(); EOPNOTSUPP as above.
 */
int coll_comm_load_tables(coll_comm_t *comm, const char *path);

/**
 * coll_comm_choice() - what COLL_ALG_AUTO means now, with the segment
 * @row: result: the largest size it holds for, algorithm, segment (0: that of the kernel)
 *
 * Errors: EINVAL if the collective has no algorithms. See coll_comm_algorithm().
 */
int coll_comm_choice(const coll_comm_t *comm, enum coll_collective what, uint64_t bytes,
		     struct coll_select_row *row);

/**
 * coll_comm_algorithm() - what COLL_ALG_AUTO means now
 * @bytes: count times bytes of an element
 *
 * Return: a name, without its radix, static storage; NULL if the collective has no algorithms. An
 * operator or a type may want another one.
 */
const char *coll_comm_algorithm(const coll_comm_t *comm, enum coll_collective what,
				uint64_t bytes);

/**
 * coll_allreduce() - reduce over all ranks, result everywhere
 * @send: @count elements, or COLL_IN_PLACE
 * @recv: @count elements
 *
 * COLL_OP_PREMULSUM needs a factor, which only struct coll_cmd has room for: EINVAL
 * here and by coll_iallreduce(). Fill in a command, its scalar by memcpy() of one
 * element, and give it to coll_submit() or coll_isubmit(), or put the factor into
 * what coll_prep_allreduce() has filled in. Each rank has a factor of its own.
 */
int coll_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   enum coll_dtype dtype, enum coll_op_code op);

/** coll_broadcast() - @count elements of @root's @buf to every rank's @buf */
int coll_broadcast(coll_comm_t *comm, void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t root);

/** coll_barrier() - return when every rank has called */
int coll_barrier(coll_comm_t *comm);

/**
 * coll_submit() - run any command and wait
 * @cmd: as linux/coll.h says; a zero timeout_ns takes the communicator's
 */
int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd);

/**
 * coll_isubmit() - start any command
 * @cmd: copied before the call returns
 * @req: result; give it to coll_wait() or to coll_test() until that says done
 *
 * Buffers belong to the kernel until the request is over. Errors that the
 * kernel finds at once may also come from coll_wait().
 */
int coll_isubmit(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **req);

int coll_iallreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		    enum coll_dtype dtype, enum coll_op_code op, coll_request_t **req);
int coll_ibroadcast(coll_comm_t *comm, void *buf, uint64_t count,
		    enum coll_dtype dtype, uint32_t root, coll_request_t **req);
int coll_ibarrier(coll_comm_t *comm, coll_request_t **req);

/**
 * coll_wait() - result of a request, when it is there
 * @req: freed; NULL is allowed and gives 0
 */
int coll_wait(coll_request_t *req);

/**
 * coll_test() - is it over?
 * @done: 1: yes, the return value is its result and @req is freed; 0: no
 */
int coll_test(coll_request_t *req, int *done);

/**
 * coll_wait_for() - wait for a request, but not forever
 * @ns: nanoseconds; 0: as coll_test()
 * @done: as of coll_test()
 *
 * The request goes on after the time has passed. This is for callers that have other things to
 * look after meanwhile. A deadline of the collective itself is coll_comm_set_timeout().
 */
int coll_wait_for(coll_request_t *req, uint64_t ns, int *done);

/**
 * coll_cancel() - cancel a send or a receive that has no partner yet, as MPI_Cancel
 * @req: of coll_isend() or coll_irecv(), or prepared; under way or complete. It still has to be
 *	given to coll_wait() or coll_test().
 *
 * Does not wait. The result of the request is ECANCELED if it was cancelled and no partner has seen
 * it. Otherwise its partner came first, and it ends as without this call.
 * Errors: EINVAL if @req is a collective, a sendrecv, or of coll_imrecv(); EOPNOTSUPP if the module
 * is too old.
 */
int coll_cancel(coll_request_t *req);

/**
 * coll_waitall() - wait for all of them
 * @reqs: @n requests, NULL allowed among them; all are NULL afterwards
 *
 * Return: 0, or the first error in the order of @reqs.
 */
int coll_waitall(coll_request_t **reqs, size_t n);

/*
 * Filling an SQE of the application's own ring, of 64 or 128 bytes. @cmd is
 * storage that must live until the SQE has been submitted (io_uring_enter has
 * returned), not until completion. user_data is the application's and is not
 * touched. The CQE's res is 0 or a negative errno. There is one CQE per SQE.
 *
 * The kernel numbers commands in the order it takes them: no IOSQE_ASYNC. The nonblocking collectives
 * of @comm that came before must have ended: the kernel may not know of them.
 */
void coll_prep_cmd(struct io_uring_sqe *sqe, coll_comm_t *comm, const struct coll_cmd *cmd);
void coll_prep_allreduce(struct io_uring_sqe *sqe, coll_comm_t *comm, struct coll_cmd *cmd,
			 const void *send, void *recv, uint64_t count,
			 enum coll_dtype dtype, enum coll_op_code op);
void coll_prep_broadcast(struct io_uring_sqe *sqe, coll_comm_t *comm, struct coll_cmd *cmd,
			 void *buf, uint64_t count, enum coll_dtype dtype, uint32_t root);
void coll_prep_barrier(struct io_uring_sqe *sqe, coll_comm_t *comm, struct coll_cmd *cmd);

/**
 * coll_prep_fixed() - the buffers are registered with the ring
 * @sqe: filled in by one of the above, or by one of messages.h
 * @buf_index: of io_uring_register_buffers()
 *
 * All buffers of the call, except those that coll_register_buffer() knows, must lie in this one,
 * and are not pinned again. Otherwise the CQE says -EFAULT. It says -EOPNOTSUPP for a buffer of a
 * driver that is not made of whole pages. Works if the module has COLL_FEAT_URING_FIXED.
 */
void coll_prep_fixed(struct io_uring_sqe *sqe, unsigned int buf_index);

/**
 * coll_register_buffer() - pin memory once for many calls
 * @flags: COLL_REG_WRITE if collectives shall write to it
 * @id: result
 *
 * Calls whose buffers lie inside use it by themselves. Collectives with counts (reduce_scatter and
 * the v-forms) do not: set COLL_CMD_REG_SEND and send_buf, or COLL_CMD_REG_RECV and recv_buf, in
 * their commands. The memory must stay mapped where it is until coll_unregister_buffer(). That may
 * be called when all calls that use the memory have been started: those under way have it pinned.
 * Prepared calls, named tensors, and nonblocking calls that the library has not given to the kernel
 * yet pin their memory themselves from then on. But a command that was filled in before and is
 * given to coll_submit(), coll_isubmit() or a ring of the application fails with ENOENT.
 * Errors: EFAULT, EINVAL, ENOMEM over RLIMIT_MEMLOCK, ENOSPC.
 */
int coll_register_buffer(coll_comm_t *comm, void *addr, size_t len, uint32_t flags,
			 uint32_t *id);
int coll_unregister_buffer(coll_comm_t *comm, uint32_t id);

/**
 * coll_abort() - end the communicator on every rank
 * @code: shown in the cause on all ranks
 */
int coll_abort(coll_comm_t *comm, uint32_t code);

/** coll_comm_status() - what the kernel knows, in every state */
int coll_comm_status(coll_comm_t *comm, struct coll_status *st);

/** coll_device_version() - what the loaded module can do */
int coll_device_version(coll_comm_t *comm, struct coll_version *v);

/**
 * coll_cause_str() - one line that says what ended a communicator
 * @buf: @len bytes, always terminated if @len is not 0
 *
 * Return: length of the whole line, as snprintf() does.
 */
int coll_cause_str(const struct coll_cause *cause, char *buf, size_t len);

/** coll_strerror() - what an error means here; either sign; static storage */
const char *coll_strerror(int err);

/** Bytes of one element; 0 for a number that is no type. */
size_t coll_dtype_bytes(enum coll_dtype dtype);

/**
 * coll_op_supported() - may this operator be applied to this type?
 *
 * By this library; what the loaded module can do, coll_device_version() says. False for unknown
 * numbers.
 */
bool coll_op_supported(enum coll_op_code op, enum coll_dtype dtype);

/**
 * coll_reduce_local() - @inout = @in op @inout, elementwise, in this process
 * @in: @count elements, the earlier operand
 * @inout: @count elements, the later operand and the result; may be @in
 *
 * As MPI_Reduce_local, bit by bit as the kernel would compute it: no communicator and no module is
 * needed, any thread may call. How the thread rounds, whether it flushes denormals or traps (MXCSR
 * and the x87's control word; FPCR) has no influence, and is left as it was, with the flags of
 * exceptions. COLL_OP_REPLACE leaves @inout as it is, COLL_OP_NO_OP copies @in; COLL_OP_SUM_EXACT
 * gives the correctly rounded sum of the two. COLL_OP_AVG and COLL_OP_PREMULSUM are not defined on
 * two operands without ranks. The environment variable COLL_SIMD, read at the first call, may name
 * the instruction set: scalar, sse2, avx2, avx512, neon. Errors, before anything is written:
 * EINVAL if @dtype or @op is out of range, if @count elements do not fit into memory, or if the
 * vectors overlap in part; EOPNOTSUPP if the operator is not defined on the type, or not on this
 * machine; EFAULT if a vector is NULL. With @count 0 the vectors are not read.
 */
int coll_reduce_local(const void *in, void *inout, uint64_t count, enum coll_dtype dtype,
		      enum coll_op_code op);

/** Version of this library, "major.minor.patch". */
const char *coll_version(void);

#include <coll/collectives.h>
#include <coll/messages.h>
#include <coll/op.h>
#include <coll/adasum.h>

#ifdef __cplusplus
}
#endif

#endif /* COLL_COLL_H */
