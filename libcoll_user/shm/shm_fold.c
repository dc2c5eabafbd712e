// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <coll/coll.h>

#include "base/fpstate.h"
#include "optable.h"
#include "reduce/reduce.h"
#include "reduction/exact.h"
#include "shm_fold.h"

/* For so few elements vector instructions do not pay: all sets have the same bits. */
#define FEW	4

/*
 * The kernel folds an allreduce and a reduce of one node in the order of ranks, in one pass, and
 * with COLL_FEAT_RANK_ORDER all other reductions, too. If a table names an algorithm, and in older
 * modules, the bits of a scan or a reduce_scatter depend on the algorithm, unless the fold has the
 * same bits in any order, or has two operands.
 */
static bool order_is_free(uint32_t op, uint32_t dtype, uint32_t ranks)
{
	switch (op) {
	case COLL_OP_MIN:
	case COLL_OP_MAX:
	case COLL_OP_LAND:
	case COLL_OP_LOR:
	case COLL_OP_LXOR:
	case COLL_OP_BAND:
	case COLL_OP_BOR:
	case COLL_OP_BXOR:
	case COLL_OP_SUM_EXACT:
		return true;
	case COLL_OP_SUM:
	case COLL_OP_PROD:
		return ranks == 2 || coll_dtype_flags(dtype) & COLL_DTYPE_INTEGER;
	default:
		return false;
	}
}

static bool bits_are_fixed(const struct shm_fold *f, uint32_t ranks)
{
	uint32_t collective = f->collective, op = f->op, dtype = f->dtype;
	bool scan = collective == COLL_SCAN || collective == COLL_EXSCAN;

	/* The kernel copies elements as they are, with their padding. */
	if (op == COLL_OP_REPLACE || op == COLL_OP_NO_OP)
		return false;
	if (f->ranked)
		return !scan || op != COLL_OP_AVG;
	/* The kernel widens and narrows even a single input: a NaN loses its payload. */
	if (scan && !f->narrow && coll_wide_size(op, dtype))
		return false;
	return collective == COLL_ALLREDUCE || collective == COLL_REDUCE ||
	       (!(coll_dtype_flags(dtype) & COLL_DTYPE_PADDED) && order_is_free(op, dtype, ranks));
}

static void look_up(struct shm_fold *f, bool wide)
{
	const struct coll_simd *set = coll_simd_chosen();

	f->elem = coll_dtype_size(f->dtype);
	f->x87 = coll_dtype_flags(f->dtype) & COLL_DTYPE_X87;
	f->widened = false;
	if (f->op == COLL_OP_SUM_EXACT) {
		f->plain = f->dtype == COLL_F32 ? coll_exact_sum_f32 : coll_exact_sum_f64;
		f->few = f->plain;
		return;
	}
	f->few = coll_simd_scalar.fn[f->dtype][f->op];
	f->plain = set->fn[f->dtype][f->op];
	if (!f->plain)
		f->plain = f->few;
	f->widened = wide && coll_wide_setup(&f->wide, set, f->op, f->dtype);
	f->is_plain = f->widened && coll_wide_is_plain(&f->wide, f->dtype);
}

bool shm_fold_setup(struct shm_fold *f, uint32_t collective, uint32_t op, uint32_t dtype,
		    bool narrow, bool ranked, uint32_t ranks)
{
	if (f->collective == collective && f->op == op && f->dtype == dtype &&
	    f->narrow == narrow && f->ranked == ranked)
		return f->usable;
	*f = (struct shm_fold){
		.collective = (uint16_t)collective,
		.op = (uint16_t)op,
		.dtype = (uint16_t)dtype,
		.narrow = narrow,
		.ranked = ranked,
	};
	f->usable = op < COLL_NR_OPS && dtype < COLL_NR_DTYPES && coll_op_defined(op, dtype) &&
		    bits_are_fixed(f, ranks);
	if (f->usable)
		look_up(f, !narrow);
	return f->usable;
}

bool shm_fold_keeps_one(const struct shm_fold *f)
{
	/* Widening quiets a NaN, and the kernel clears padding. */
	if (f->widened || f->narrow || coll_dtype_flags(f->dtype) & COLL_DTYPE_PADDED)
		return false;
	switch (f->op) {
	case COLL_OP_SUM:
	case COLL_OP_PROD:
	case COLL_OP_MIN:
	case COLL_OP_MAX:
	case COLL_OP_BAND:
	case COLL_OP_BOR:
	case COLL_OP_BXOR:
		return true;
	default:
		return false;
	}
}

/* Fold with wider partial results, some elements at a time. */
static void run_wide(const struct shm_fold *f, void *out, const void *const *in, uint32_t nr,
		     const struct coll_reduce_arg *arg, size_t count)
{
	uint64_t room[COLL_WIDE_ROOM / sizeof(uint64_t) + 1];
	const void *at[COLL_SHM_RANKS];
	size_t most = coll_wide_most(&f->wide), done, n;
	struct coll_wide_job job = {
		.w = &f->wide, .final = true, .out = &out, .nr_out = 1,
		.in = at, .nr_in = nr, .arg = arg, .room = room,
	};
	uint32_t i;

	for (done = 0; done < count; done += n) {
		n = count - done < most ? count - done : most;
		for (i = 0; i < nr; i++)
			at[i] = (const char *)in[i] + done * f->elem;
		coll_wide_run(&job, n);
		out = (char *)out + n * f->elem;
	}
}

void shm_fold_run(const struct shm_fold *f, void *out, const void *const *in, uint32_t nr,
		  const uint64_t *scales, uint32_t ranks, size_t count)
{
	const struct coll_reduce_arg arg = { .divisor = ranks, .scale = scales };
	struct fp_state fp;

	fp_enter(&fp, f->x87);
	if (!f->widened || f->is_plain)
		(count > FEW ? f->plain : f->few)(&out, 1, in, nr, count, &arg);
	else
		run_wide(f, out, in, nr, &arg, count);
	fp_leave(&fp);
}
