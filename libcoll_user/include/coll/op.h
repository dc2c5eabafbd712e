/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Operators of the user's own, on types of coll or on elements of any fixed size.
 *
 * The kernel moves the data and never calls the function: it runs on the thread that
 * called the collective, which is why there are no nonblocking forms. Operands are
 * folded in rank order, ((0 op 1) op 2) op 3 ..., whether or not the operator commutes,
 * so it need be associative only. Documentation/library.rst has the schedule.
 */
#ifndef COLL_OP_H
#define COLL_OP_H

#ifndef COLL_COLL_H
#error "include <coll/coll.h>"
#endif

/**
 * struct coll_user_type - what vectors consist of
 * @dtype: a type of coll, or COLL_OPAQUE
 * @size: bytes of an element; of a type of coll 0 will do
 */
struct coll_user_type {
	enum coll_dtype	dtype;
	size_t		size;
};

/** coll_type_of() - a type of coll */
static inline struct coll_user_type coll_type_of(enum coll_dtype dtype)
{
	struct coll_user_type type = { dtype, 0 };

	return type;
}

/** coll_type_opaque() - @size bytes that mean something to the operator only */
static inline struct coll_user_type coll_type_opaque(size_t size)
{
	struct coll_user_type type = { COLL_OPAQUE, size };

	return type;
}

/**
 * typedef coll_user_fn - @inoutvec = @invec op @inoutvec, elementwise
 * @invec: @len elements, the earlier operand
 * @inoutvec: @len elements, the later operand and the result; not @invec
 * @len: never 0; a vector comes in pieces of any length
 * @type: with the size filled in
 * @arg: of coll_op_create()
 *
 * The result must depend on the operands alone: several ranks may compute the same
 * element. In the collectives elements are aligned as in an array from malloc(). The
 * function must not use the communicator, nor leave by longjmp() or an exception.
 */
typedef void coll_user_fn(const void *invec, void *inoutvec, uint64_t len,
			  const struct coll_user_type *type, void *arg);

/** An operator; 0 is none. Using it after it was freed gives EINVAL. */
typedef uint64_t coll_op_t;

/**
 * coll_op_create() - make an operator
 * @fn: the function, which must be associative
 * @commute: whether @fn is commutative. All ranks must say the same. It has no effect today.
 * @arg: passed to @fn
 * @op: result, valid in this process: ranks need not have the same number
 *
 * Errors: EINVAL if @fn or @op is NULL; ENOMEM; ENOSPC if there are too many operators.
 */
int coll_op_create(coll_user_fn *fn, bool commute, void *arg, coll_op_t *op);

/**
 * coll_op_free() - free an operator
 *
 * Calls that are under way in other threads still use it. Errors: EINVAL if there is no such
 * operator.
 */
int coll_op_free(coll_op_t op);

/**
 * coll_op_set_piece() - size of the pieces that vectors are cut into for this operator
 * @bytes: bytes of a piece. A rank folds one piece while it receives the next one and sends the
 *	last one. At least one element; the pieces of all ranks together at most 8 MiB; 0:
 *	256 KiB, the default.
 *
 * Applies to later calls. If ranks set different sizes, calls end with EBADE. Errors: EINVAL if
 * there is no such operator.
 */
int coll_op_set_piece(coll_op_t op, uint64_t bytes);

/*
 * The collectives, with the buffers of their namesakes in coll.h and collectives.h.
 *
 * Each is several commands to the kernel. Errors: EINVAL also for an invalid operator or type,
 * or buffers that overlap in part; EFAULT if a buffer is NULL; EBADE if the ranks disagree on
 * collective, count, type, root, @commute or piece. All ranks check that first, and it may or may
 * not fail the communicator. If a call fails on this rank when others may have gone
 * on already, or with ENOMEM, it aborts the communicator: the code of the abort is the errno. The
 * deadline of coll_comm_set_timeout() is one for the whole call, and does not interrupt the
 * function.
 */

/** coll_user_allreduce() - the fold of all @send, everywhere, and the same bits */
int coll_user_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
			struct coll_user_type type, coll_op_t op);

/** coll_user_reduce() - the same at @root, where @recv and COLL_IN_PLACE have a meaning */
int coll_user_reduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		     struct coll_user_type type, coll_op_t op, uint32_t root);

/** coll_user_reduce_scatter() - @recv of rank r = block r, @counts[r] elements */
int coll_user_reduce_scatter(coll_comm_t *comm, const void *send, void *recv,
			     const uint64_t *counts, struct coll_user_type type,
			     coll_op_t op);

/** coll_user_reduce_scatter_block() - the same, each block of @count elements */
int coll_user_reduce_scatter_block(coll_comm_t *comm, const void *send, void *recv,
				   uint64_t count, struct coll_user_type type,
				   coll_op_t op);

/** coll_user_scan() - @recv of rank r = the fold of @send of ranks 0 .. r */
int coll_user_scan(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   struct coll_user_type type, coll_op_t op);

/** coll_user_exscan() - the same of ranks 0 .. r - 1; @recv of rank 0 is not touched */
int coll_user_exscan(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		     struct coll_user_type type, coll_op_t op);

/**
 * coll_user_reduce_local() - @inout = @in op @inout, in this process
 *
 * One call of the function, with the vectors as they are. Errors: EINVAL if there is no such
 * operator or type, or if the vectors do not fit into memory or overlap, even if they are the same;
 * EFAULT if one is NULL. With @count 0 the function is not called.
 */
int coll_user_reduce_local(const void *in, void *inout, uint64_t count,
			   struct coll_user_type type, coll_op_t op);

#endif /* COLL_OP_H */
