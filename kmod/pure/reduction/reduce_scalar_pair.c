// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The scalar reference: pairs of a value and an index. */
#include "reduce_scalar.h"

struct f32_i32 {
	f32 value;
	s32 index;
};

struct f64_i32 {
	f64 value;
	s32 index;
	u32 pad;
};

struct i64_i32 {
	s64 value;
	s32 index;
	u32 pad;
};

struct i32_i32 {
	s32 value;
	s32 index;
};

struct i16_i32 {
	s16 value;
	u16 pad;
	s32 index;
};

struct f32_f32 {
	f32 value;
	f32 index;
};

struct f64_f64 {
	f64 value;
	f64 index;
};

/* Store the pair that is taken. */
#define AS_IS(a)	(a)

#define FIXED(type, fix)							\
static inline struct type fixed_##type(struct type a)				\
{										\
	fix;									\
	return a;								\
}

#define ONE_NAN(nan)								\
do {										\
	if (a.value != a.value)							\
		a.value = nan;							\
} while (0)

#define PAIRS(type, bits, kind, fixed)						\
COLL_FOLD_NATIVE(type, struct type)						\
COLL_FOLD_PAIR(minloc, type, bits, COLL_LESS_##kind, fixed)			\
COLL_FOLD_PAIR(maxloc, type, bits, COLL_MORE_##kind, fixed)

FIXED(f32_i32, ONE_NAN(__builtin_nanf("")))
FIXED(f64_i32, ONE_NAN(__builtin_nan("")); a.pad = 0)
FIXED(i64_i32, a.pad = 0)
FIXED(i16_i32, a.pad = 0)
FIXED(f32_f32, ONE_NAN(__builtin_nanf("")))
FIXED(f64_f64, ONE_NAN(__builtin_nan("")))

PAIRS(f32_i32, b64, FLOAT, fixed_f32_i32)
PAIRS(f64_i32, b64_b32, FLOAT, fixed_f64_i32)
PAIRS(i64_i32, b64_b32, INT, fixed_i64_i32)
PAIRS(i32_i32, b64, INT, AS_IS)
PAIRS(i16_i32, b16_b32, INT, fixed_i16_i32)
PAIRS(f32_f32, b64, FLOAT, fixed_f32_f32)
PAIRS(f64_f64, b128, FLOAT, fixed_f64_f64)
