// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The reference reductions: one element after the other, as reduce.h says. All
 * others are tested against these.
 */
#include "reduce_scalar_rows.h"
#include "reduce_scalar.h"

#define FN(op, kind)	coll_scalar_##op##_##kind

const struct coll_simd coll_simd_scalar = {
	.name = "scalar",
	.fn = {
		COLL_ROWS,
#if defined(__x86_64__)
		COLL_ROWS_X87,
#endif
	},
	.widen = { COLL_ROWS_WIDE(to_wide) },
	.narrow = { COLL_ROWS_WIDE(from_wide) },
};
