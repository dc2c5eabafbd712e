// SPDX-License-Identifier: GPL-2.0
/* A rank that contributes the identity of an operator changes nothing, wherever it stands. */
#include "pure/reduction/identity.h"
#include "reduce_test.h"

#define ELEM	COLL_IDENTITY_MAX
#define IN	3

static void fold(u32 op, u32 dtype, const void *const *in, u32 nr, const u64 *scale, u8 *out)
{
	const struct coll_reduce_arg arg = { .divisor = 7, .scale = scale };
	void *outs[1] = { out };

	memset(out, 0, ELEM);
	coll_simd_scalar.fn[dtype][op](outs, 1, in, nr, 1, &arg);
}

/* Two elements, with the identity before, between and behind them. */
static bool changes_nothing(u32 op, u32 dtype, const u8 *a, const u8 *b, const u8 *id)
{
	const u8 *const orders[IN][IN] = { { id, a, b }, { a, id, b }, { a, b, id } };
	const u64 one = coll_identity_factor(dtype);
	const u64 factors[IN] = { one, one, one };
	const void *const two[2] = { a, b };
	u8 want[ELEM], got[ELEM];
	u32 k;

	fold(op, dtype, two, 2, factors, want);
	for (k = 0; k < IN; k++) {
		fold(op, dtype, (const void *const *)orders[k], IN, factors, got);
		if (memcmp(want, got, ELEM))
			return false;
		nr_checked++;
	}
	return true;
}

/*
 * Is the element left out? Products of complex numbers take only finite ones, and no zeros.
 * Pairs of floats take no index that is not a number.
 */
static bool is_special(u32 op, u32 dtype)
{
	return dtype == COLL_F32_F32 || dtype == COLL_F64_F64 ||
	       ((dtype == COLL_C32 || dtype == COLL_C64 || dtype == COLL_CLDOUBLE) &&
		(op == COLL_OP_PROD || op == COLL_OP_PREMULSUM));
}

static void check(u32 op, u32 dtype)
{
	struct gen g;
	u8 a[ELEM] = { }, b[ELEM] = { }, id[ELEM];
	bool ok = coll_identity(op, dtype, id);
	u32 i;

	for (i = 0; i < volume(2000) && ok; i++) {
		g = any_gen();
		if (is_special(op, dtype))
			g = (struct gen){ .spread = 4 };
		make_element(&g, dtype, a);
		make_element(&g, dtype, b);
		ok = changes_nothing(op, dtype, a, b, id);
	}
	tap_ok(ok, "%s of %s", coll_op_name(op), coll_dtype_name(dtype));
}

int main(void)
{
	u8 id[ELEM];
	u32 op, dtype;
	bool none = true;

	rnd = tap_seed();
	for (op = 0; op < COLL_NR_OPS; op++) {
		for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
			if (op == COLL_OP_REPLACE || op == COLL_OP_NO_OP || op == COLL_OP_USER ||
			    !coll_op_defined(op, dtype))
				none &= !coll_identity(op, dtype, id);
			else if (have_kernel(op, dtype))
				check(op, dtype);
		}
	}
	tap_ok(none, "none where the result is one rank's input");
	none = coll_identity(COLL_OP_SUM_EXACT, COLL_F32, id) && id[3] == 0x80;
	tap_ok(none, "an exact sum has that of a sum");
	print_checked("folds with the identity");
	return tap_done();
}
