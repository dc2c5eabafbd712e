/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Reductions of the data of ranks in shared memory, with the same bits as in the kernel. */
#ifndef LIBCOLL_SHM_FOLD_H
#define LIBCOLL_SHM_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduction/wide.h"

/**
 * struct shm_fold - an operator on a type, ready to run
 * @collective: enum coll_collective
 * @op: enum coll_op_code
 * @dtype: enum coll_dtype
 * @narrow: COLL_CMD_NARROW
 * @ranked: the kernel folds in the order of ranks, whatever the collective
 * @usable: the bits are the same in shared memory and in the kernel
 * @elem: bytes of an element
 * @x87: it needs the x87
 * @plain: kernel that folds, if not @widened
 * @few: the same for few elements
 * @widened: partial results have a wider type
 * @is_plain: @widened, but @plain has the same result
 * @wide: kernels that fold, if @widened
 */
struct shm_fold {
	uint16_t collective, op, dtype;
	bool narrow, ranked;
	bool usable;
	uint32_t elem;
	bool x87;
	coll_reduce_fn *plain, *few;
	bool widened;
	bool is_plain;
	struct coll_wide wide;
};

/**
 * shm_fold_setup() - look an operator up
 * @f: zeroed, or left by an earlier call: the same operator is not looked up again
 * @collective: enum coll_collective, one that reduces
 * @op: enum coll_op_code, any number
 * @dtype: enum coll_dtype, any number
 * @narrow: COLL_CMD_NARROW is set
 * @ranked: the kernel folds in the order of ranks, whatever the collective
 * @ranks: of the communicator
 *
 * Return: false: the kernel has to do the command.
 */
bool shm_fold_setup(struct shm_fold *f, uint32_t collective, uint32_t op, uint32_t dtype,
		    bool narrow, bool ranked, uint32_t ranks);

/* Is the fold of a single vector, with these bits, a copy of it? */
bool shm_fold_keeps_one(const struct shm_fold *f);

/**
 * shm_fold_run() - fold vectors, in the order of ranks
 * @f: set up
 * @out: result, none of the inputs
 * @in: inputs
 * @nr: number of @in, at least 1
 * @scales: premulsum: factors of the inputs; else NULL
 * @ranks: avg: divisor of the sum
 * @count: elements
 */
void shm_fold_run(const struct shm_fold *f, void *out, const void *const *in, uint32_t nr,
		  const uint64_t *scales, uint32_t ranks, size_t count);

#endif
