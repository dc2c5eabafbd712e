// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The scalar reference: long double, alone, in complex numbers and in pairs. An
 * object of its own, because only here the x87 is allowed. The x87 has to be as
 * the ABI has it, rounding to 64 bits of fraction, to nearest.
 */
#include "../pure/reduction/reduce_scalar.h"
#include "../pure/reduction/reduce_scalar_complex.h"

/* Bytes of a long double that count, of the 16 it takes. */
#define USED	10

typedef long double acc_ldouble;

static inline long double load(const u8 *p)
{
	long double a;

	__builtin_memcpy(&a, p, USED);
	return a;
}

static inline void store(u8 *p, long double a)
{
	__builtin_memcpy(p, &a, USED);
	__builtin_memset(p + USED, 0, sizeof(a) - USED);
}

static inline long double get_ldouble(const void *v, size_t i)
{
	return load((const u8 *)v + i * sizeof(long double));
}

static inline void put_ldouble(void *v, size_t i, long double a)
{
	store((u8 *)v + i * sizeof(a), a);
}

COLL_FOLD_ONE_NAN(ldouble, __builtin_nanl(""))
COLL_FOLD_ORDER(ldouble)
COLL_FOLD_FLOAT(ldouble, b80)

COLL_COMPLEX(cldouble, ldouble)
typedef struct cldouble acc_cldouble;

static inline struct cldouble get_cldouble(const void *v, size_t i)
{
	return (struct cldouble){ get_ldouble(v, 2 * i), get_ldouble(v, 2 * i + 1) };
}

static inline void put_cldouble(void *v, size_t i, struct cldouble a)
{
	put_ldouble(v, 2 * i, a.re);
	put_ldouble(v, 2 * i + 1, a.im);
}

COLL_FOLD_COMPLEX(cldouble, b80_b80)

struct ldouble_i32 {
	long double value;
	s32 index;
};

typedef struct ldouble_i32 acc_ldouble_i32;

static inline struct ldouble_i32 get_ldouble_i32(const void *v, size_t i)
{
	const u8 *p = (const u8 *)v + i * sizeof(struct ldouble_i32);
	struct ldouble_i32 a = { .value = load(p) };

	__builtin_memcpy(&a.index, p + sizeof(a.value), sizeof(a.index));
	return a;
}

static inline void put_ldouble_i32(void *v, size_t i, struct ldouble_i32 a)
{
	u8 *p = (u8 *)v + i * sizeof(a);

	store(p, one_nan_ldouble(a.value));
	__builtin_memset(p + sizeof(a.value), 0, sizeof(a) - sizeof(a.value));
	__builtin_memcpy(p + sizeof(a.value), &a.index, sizeof(a.index));
}

#define AS_IS(a)	(a)

COLL_FOLD_PAIR(minloc, ldouble_i32, b80_b32, COLL_LESS_FLOAT, AS_IS)
COLL_FOLD_PAIR(maxloc, ldouble_i32, b80_b32, COLL_MORE_FLOAT, AS_IS)
