/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Named tensors: collectives that each rank posts in its own order.
 *
 * The n-th numbered collective of every rank must match. Tensors match by name: a tensor
 * starts when all ranks have posted its name, and all nodes start tensors in the same order.
 * See Documentation/tensors.rst.
 *
 * A coll_tensors_t is a communicator for named tensors. Any number of threads may post to it
 * and wait for it at the same time. A coll_tensor_t is one named tensor. It is either made
 * once by coll_tensor_create() and posted many times, or made by a call that posts it, and
 * freed by the call that tells its result.
 *
 * From the post to the result the buffers belong to the kernel: the program may not write to the
 * input, and may neither read nor write the output.
 *
 * Functions return 0 or a negative errno unless they say otherwise. coll_tensor_error() has
 * a text for the last error of the calling thread.
 *
 * Errors of one tensor end it on all ranks, before a byte is moved, and the communicator goes
 * on: EBADE if the ranks disagree about it; ETIMEDOUT if its deadline passed before all ranks had
 * posted it. Errors of the communicator end all tensors, as those of coll.h: EHOSTDOWN,
 * ESHUTDOWN, ETIMEDOUT after the start, EPROTO.
 *
 * A forked child has no part in the communicators of its parent: calls return EPERM, and none of
 * its callbacks is called. coll_tensors_finalize() frees the copies that the child has.
 */
#ifndef COLL_TENSOR_H
#define COLL_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A communicator for named tensors. */
typedef struct coll_tensors coll_tensors_t;
/** A named tensor. */
typedef struct coll_tensor_handle coll_tensor_t;

/** Flag of coll_tensors_create(): a thread of the library takes results and calls back. */
#define COLL_TENSORS_THREAD	(1U << 0)

/**
 * coll_tensors_create() - make a communicator for named tensors
 * @comm: its ranks are those of the new one
 * @flags: COLL_TENSORS_THREAD or 0; each rank may choose
 * @ts: result; end it by coll_tensors_finalize()
 *
 * A collective of @comm, as coll_comm_dup(). The result may outlive @comm.
 * Errors, on all ranks: EOPNOTSUPP if the module of a rank has no named tensors; EINVAL for unknown
 * flags; those of coll_comm_dup(). Errors of one rank: EAGAIN if its thread cannot be made; EINVAL
 * if its COLL_TENSOR_TUNE or COLL_TENSOR_TUNE_STEPS is wrong; those of open() if rank 0 cannot open
 * COLL_TENSOR_TUNE_LOG; ENOMEM. Then the other ranks succeed, and their later calls get EHOSTDOWN.
 */
int coll_tensors_create(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts);

/**
 * coll_tensors_split() - communicators for named tensors of parts of a communicator
 * @comm: has numbered collectives
 * @color: as of coll_comm_split()
 * @key: as of coll_comm_split()
 * @flags: as of coll_tensors_create()
 * @ts: result; NULL with COLL_UNDEFINED as @color
 *
 * A collective of @comm. Tensors of several communicators go on side by side, each with an order
 * and names of its own; a rank may be in any number of them. Errors: those of coll_comm_split()
 * on all ranks, and of coll_tensors_create() on those of the part.
 */
int coll_tensors_split(coll_comm_t *comm, int32_t color, int32_t key, uint32_t flags,
		       coll_tensors_t **ts);

/** coll_tensors_local() - the same for the ranks of this node, in the order of @comm */
int coll_tensors_local(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts);

/**
 * coll_tensors_cross() - the same for ranks that have equal places on their nodes
 *
 * The place of a rank is the number of lower ranks of @comm on its node. Where nodes
 * have different numbers of ranks, only nodes that have the place take part.
 */
int coll_tensors_cross(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts);

/**
 * coll_tensors_init() - coll_init(), and then coll_tensors_create()
 * @cfg: as of coll_init()
 *
 * coll_tensors_base() is the communicator that coll_init() has made.
 */
int coll_tensors_init(const struct coll_config *cfg, uint32_t flags, coll_tensors_t **ts);

/**
 * coll_tensors_finalize() - leave, and free everything
 * @ts: NULL is allowed
 *
 * Waits for all tensors that this rank has posted, and calls their callbacks. Tensors that
 * other ranks have posted and this rank has not can never start: they end there with
 * EHOSTDOWN. Frees tensors that nobody has waited for, and also those of
 * coll_tensor_create(). No other thread may use @ts any more.
 * A forked child waits for nothing, and its parent does not notice.
 * Errors: EDEADLK if called from a callback; nothing has happened then.
 */
int coll_tensors_finalize(coll_tensors_t *ts);

/**
 * coll_tensors_abort() - end all pending tensors of all ranks with ESHUTDOWN
 * @code: shown in the cause everywhere, see coll_comm_status()
 */
int coll_tensors_abort(coll_tensors_t *ts, uint32_t code);

/**
 * coll_tensors_comm() - the communicator itself
 *
 * For rank and size, status, registered buffers, messages, and coll_cmd_X(). It has no
 * numbered collectives: they return EOPNOTSUPP. coll_comm_set_timeout() sets the deadline of
 * tensors that are made later. Do not finalize it.
 */
coll_comm_t *coll_tensors_comm(coll_tensors_t *ts);

/** coll_tensors_base() - of coll_tensors_init(): has numbered collectives; else NULL */
coll_comm_t *coll_tensors_base(coll_tensors_t *ts);

/**
 * typedef coll_tensor_fn - called once when a tensor has ended
 * @t: the tensor; valid during the call, and later as its maker has said
 * @result: 0 or a negative errno; coll_tensor_error() has the text
 * @arg: as given
 *
 * With COLL_TENSORS_THREAD the thread of the library calls it. Without this flag a thread of the
 * application calls it, while that thread is in coll_tensor_wait(), coll_tensor_test(),
 * coll_tensors_poll() or a function like these. So nothing is called unless a thread is in such a
 * function. Callbacks of one communicator run one at a time, in the order in which
 * results came, and without locks held.
 *
 * A callback may make, post and free tensors, and post @t again if it was made by
 * coll_tensor_create(). Waiting, testing and finalizing return EDEADLK in a callback. A
 * callback that sleeps delays all later results of this rank. It must return, and not by
 * longjmp() or pthread_exit().
 */
typedef void coll_tensor_fn(coll_tensor_t *t, int result, void *arg);

/**
 * struct coll_tensor_spec - what a tensor is
 * @struct_size: set by coll_tensor_spec_init(); lets the struct grow
 * @name: 1 to COLL_TENSOR_NAME_MAX bytes; copied
 * @cmd: what to do, as coll_cmd_X() fills it in with coll_tensors_comm(). Copied. Counts and
 *	displacements, where it has any, are read at each post.
 * @priority: 0 to COLL_TENSOR_PRIORITY_MAX; of what is ready, higher ones start first
 * @ndim: dimensions, 0 to COLL_TENSOR_DIMS; 0: one, of all elements
 * @dims: their product is the count of @cmd. Ranks must agree on them.
 * @fn: NULL: none
 * @arg: of @fn
 * @prescale: inputs are multiplied by it before they are summed; 0 or 1: they are not. For
 *	allreduce of real floats up to 64 bits by COLL_OP_SUM and COLL_OP_AVG. All ranks alike.
 * @postscale: results are multiplied by it; the conditions are those of @prescale
 * @flags: COLL_TENSOR_AVG_PRESENT: COLL_OP_AVG divides by the number of ranks that have not
 *	joined, and not by all; else 0. All ranks alike.
 * @wire: COLL_F16 or COLL_BF16: what elements are between nodes, and what results are rounded to;
 *	sums are in f32. For allreduce of COLL_F32 by sum, avg, min, max and premulsum. 0: the
 *	type of the tensor, or as coll_comm_set_wire() says. All ranks alike.
 */
struct coll_tensor_spec {
	size_t		struct_size;
	const char	*name;
	struct coll_cmd	cmd;
	uint32_t	priority;
	uint32_t	ndim;
	uint64_t	dims[COLL_TENSOR_DIMS];
	coll_tensor_fn	*fn;
	void		*arg;
	double		prescale;
	double		postscale;
	uint64_t	flags;
	uint64_t	wire;
};

/** coll_tensor_spec_init() - a barrier of that name, to be filled in */
static inline void coll_tensor_spec_init(struct coll_tensor_spec *spec, const char *name)
{
	memset(spec, 0, sizeof(*spec));
	spec->struct_size = sizeof(*spec);
	spec->name = name;
	spec->cmd.collective = COLL_BARRIER;
}

/**
 * coll_tensor_create() - make a tensor once, for many posts
 * @spec: copied
 * @t: result; end it by coll_tensor_free()
 *
 * Nothing is posted. Errors: EINVAL if the name is empty or too long, the priority or the number
 * of dimensions is out of range, the type between nodes is not allowed, or @struct_size is wrong;
 * EOVERFLOW if the product of the dimensions is too large; ENOMEM.
 */
int coll_tensor_create(coll_tensors_t *ts, const struct coll_tensor_spec *spec,
		       coll_tensor_t **t);

/**
 * coll_tensor_free() - end a tensor of coll_tensor_create()
 * @t: NULL is allowed
 *
 * Errors: EBUSY if it is posted, or its callback runs; EINVAL if it is not of
 * coll_tensor_create().
 */
int coll_tensor_free(coll_tensor_t *t);

/** coll_tensor_name() - its name; valid as long as @t */
const char *coll_tensor_name(const coll_tensor_t *t);

/**
 * coll_tensor_post() - post a tensor of coll_tensor_create()
 *
 * Does not wait. Errors: EBUSY if it is posted and its result has not been taken, or if this rank
 * has joined (coll_tensors_join()) and not all have; EINVAL also if a factor is not finite, or too
 * large or too small for the type of the sum; EOPNOTSUPP also for factors where there may be none;
 * EEXIST if this rank has posted another tensor of the name that has not started; those of
 * COLL_IOC_TENSOR_POST.
 */
int coll_tensor_post(coll_tensor_t *t);

/**
 * coll_tensor_postall() - post many in one system call
 * @tensors: of one communicator and of coll_tensor_create(), no two of them with the same name
 * @posted: result: how many have been posted, from the first one on; NULL is allowed
 *
 * The first one that is refused ends the call with its error, and those before it stay
 * posted.
 */
int coll_tensor_postall(coll_tensor_t *const *tensors, size_t n, size_t *posted);

/**
 * coll_tensor_run() - post a tensor of coll_tensor_create(), and wait for its result
 *
 * One system call, unless another thread takes results, or the result of another tensor comes
 * first. Errors: those of coll_tensor_post() and coll_tensor_wait(). After EDEADLK nothing is
 * posted.
 */
int coll_tensor_run(coll_tensor_t *t);

/**
 * coll_tensor_submit() - make a tensor and post it
 * @spec: copied
 * @t: result: give it to coll_tensor_wait(), or coll_tensor_test() until that says done. NULL:
 *	nobody waits. It is freed after its callback, which it must have.
 */
int coll_tensor_submit(coll_tensors_t *ts, const struct coll_tensor_spec *spec,
		       coll_tensor_t **t);

/**
 * coll_tensor_submitall() - make many and post them in one system call
 * @tensors: result: @n tensors, NULL for those that have not been posted; or NULL, as of
 *	coll_tensor_submit()
 * @posted: as of coll_tensor_postall(). If the library refuses a spec, nothing is posted: 0
 */
int coll_tensor_submitall(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
			  coll_tensor_t **tensors, size_t *posted);

/**
 * coll_tensor_postgroup() - post tensors that start together, or not at all
 * @tensors: of one communicator and of coll_tensor_create(), no two of them the same
 * @n: 1 to COLL_TENSOR_CALL_MAX
 * @posted: result: how many results come; NULL is allowed
 *
 * The group is that of the names. Each rank posts it in one call, in an order of its own. No
 * member starts before all ranks have posted all of them. If one of them ends with an error
 * before it starts, so do all others, with the same error.
 *
 * On an error all members end with ECANCELED on the other ranks. On this rank the first @posted
 * members have been posted, and end with ECANCELED, too: wait for them. Then the group can be
 * posted again, by all ranks: its n-th post meets the n-th posts of the others. Without memory
 * (ENOMEM) it may be that the others are not told, and wait until a deadline. EBUSY and EEXIST
 * change nothing: a member is still posted, or its result has not been taken. Other errors: those
 * of coll_tensor_post().
 */
int coll_tensor_postgroup(coll_tensor_t *const *tensors, size_t n, size_t *posted);

/**
 * coll_tensor_submitgroup() - make tensors and post them as a group
 * @tensors: as of coll_tensor_submitall(). Wait for the first @posted of them, also after an error.
 *
 * Else as coll_tensor_postgroup().
 */
int coll_tensor_submitgroup(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
			    coll_tensor_t **tensors, size_t *posted);

/**
 * coll_tensors_join() - wait until all ranks have no more tensors
 * @last: result: the last rank that has joined, the same on all ranks; NULL is allowed
 *
 * For ranks with less data than others. Until all have joined, this rank counts as if it had
 * posted everything: it contributes nothing to an allreduce or a barrier. Averages are divided
 * by the number of all ranks, or with COLL_TENSOR_AVG_PRESENT in the spec by that of the ranks
 * that have posted the tensor. The tensors that it has posted before go on. Other collectives,
 * and allreduce by COLL_OP_REPLACE and COLL_OP_NO_OP, end with EOPNOTSUPP on the ranks that
 * post them. Posts of this rank are refused meanwhile (EBUSY), and possible again afterwards.
 * Errors: EBUSY if this rank has joined; EDEADLK if called from a callback; those of the
 * communicator.
 */
int coll_tensors_join(coll_tensors_t *ts, uint32_t *last);

/**
 * coll_tensors_ijoin() - join, and do not wait
 * @last: written before the result is told
 * @fn: called when all have joined; NULL: nothing is
 * @arg: of @fn
 * @t: result: give it to coll_tensor_wait() or others like it
 */
int coll_tensors_ijoin(coll_tensors_t *ts, uint32_t *last, coll_tensor_fn *fn, void *arg,
		       coll_tensor_t **t);

/*
 * By name: make a tensor and post it. @t is the result, as of coll_tensor_submit(); NULL: wait
 * here for its result and return it. Other arguments are those of the calls without a name
 * in coll.h and collectives.h. Errors: those of coll_tensor_submit(); EINVAL also for
 * COLL_OP_PREMULSUM: these calls have no argument for its factor, use coll_tensor_submit().
 */
int coll_tensor_allreduce(coll_tensors_t *ts, const char *name, const void *send, void *recv,
			  uint64_t count, enum coll_dtype dtype, enum coll_op_code op,
			  coll_tensor_t **t);
int coll_tensor_broadcast(coll_tensors_t *ts, const char *name, void *buf, uint64_t count,
			  enum coll_dtype dtype, uint32_t root, coll_tensor_t **t);
int coll_tensor_allgather(coll_tensors_t *ts, const char *name, const void *send, void *recv,
			  uint64_t count, enum coll_dtype dtype, coll_tensor_t **t);
int coll_tensor_allgatherv(coll_tensors_t *ts, const char *name, const void *send, void *recv,
			   const uint64_t *counts, const uint64_t *displs,
			   enum coll_dtype dtype, coll_tensor_t **t);
int coll_tensor_alltoall(coll_tensors_t *ts, const char *name, const void *send, void *recv,
			 uint64_t count, enum coll_dtype dtype, coll_tensor_t **t);
int coll_tensor_reduce_scatter(coll_tensors_t *ts, const char *name, const void *send,
			       void *recv, const uint64_t *counts, enum coll_dtype dtype,
			       enum coll_op_code op, coll_tensor_t **t);
int coll_tensor_reduce_scatter_block(coll_tensors_t *ts, const char *name, const void *send,
				     void *recv, uint64_t count, enum coll_dtype dtype,
				     enum coll_op_code op, coll_tensor_t **t);
int coll_tensor_barrier(coll_tensors_t *ts, const char *name, coll_tensor_t **t);

/**
 * coll_tensor_wait() - the result of a tensor, when it is there
 * @t: NULL, or not posted: 0 at once. Freed, unless it is of coll_tensor_create().
 *
 * One thread may wait for a tensor. Returns after its callback.
 * Errors: EDEADLK if called from a callback: nothing has happened then; else the result.
 */
int coll_tensor_wait(coll_tensor_t *t);

/**
 * coll_tensor_test() - has it ended?
 * @done: 1: yes, and it is as after coll_tensor_wait(); 0: no
 */
int coll_tensor_test(coll_tensor_t *t, int *done);

/**
 * coll_tensor_wait_for() - wait for a tensor, but not forever
 * @ns: nanoseconds; 0: as coll_tensor_test()
 * @done: as of coll_tensor_test()
 *
 * The tensor goes on after the time has passed. Its own deadline is that of its command.
 */
int coll_tensor_wait_for(coll_tensor_t *t, uint64_t ns, int *done);

/** As index: none of the tensors is posted. */
#define COLL_TENSOR_NONE	SIZE_MAX

/**
 * coll_tensor_waitany() - the result of one of them, when there is any
 * @tensors: of one communicator; NULL and those that are not posted are passed over. The one
 *	that has ended is NULL afterwards, unless it is of coll_tensor_create().
 * @index: result: which one; COLL_TENSOR_NONE: there is none to wait for
 *
 * Return: its result; EINVAL if they are of several communicators.
 */
int coll_tensor_waitany(coll_tensor_t **tensors, size_t n, size_t *index);

/**
 * coll_tensor_waitall() - wait for all of them
 * @tensors: as of coll_tensor_waitany()
 *
 * Return: 0, or the first error in the order of @tensors.
 */
int coll_tensor_waitall(coll_tensor_t **tensors, size_t n);

/**
 * coll_tensors_poll() - take results that are there, and call callbacks
 * @wait: nonzero: if there is none, wait for the next one, if anything is posted
 *
 * Return: how many tensors this rank has posted that have not ended; or a negative errno.
 */
int coll_tensors_poll(coll_tensors_t *ts, int wait);

/**
 * coll_tensor_error() - one line about why the last call failed, for people
 *
 * As "tensor 'fc1.weight': the ranks disagree about the type: f32 on rank 0, f64 on rank 2". It
 * is about the last failed call of the calling thread; in a callback, about its result. Valid
 * until the thread's next call.
 */
const char *coll_tensor_error(void);

#ifdef __cplusplus
}
#endif

#endif /* COLL_TENSOR_H */
