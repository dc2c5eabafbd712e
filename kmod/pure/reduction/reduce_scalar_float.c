// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The scalar reference: f32, f64, and complex numbers of them. */
#include "reduce_scalar.h"
#include "reduce_scalar_complex.h"

COLL_FOLD_NATIVE(f32, f32)
COLL_FOLD_ONE_NAN(f32, __builtin_nanf(""))
COLL_FOLD_ORDER(f32)
COLL_FOLD_FLOAT(f32, b32)
COLL_FOLD_SCALED(f32, b * s, a + b, one_nan_f32(a))

COLL_FOLD_NATIVE(f64, f64)
COLL_FOLD_ONE_NAN(f64, __builtin_nan(""))
COLL_FOLD_ORDER(f64)
COLL_FOLD_FLOAT(f64, b64)
COLL_FOLD_SCALED(f64, b * s, a + b, one_nan_f64(a))

COLL_COMPLEX(c32, f32)
COLL_FOLD_NATIVE(c32, struct c32)
COLL_FOLD_COMPLEX(c32, b64)
COLL_FOLD_SCALED(c32, prod_c32(b, s), sum_c32(a, b), one_nan_c32(a))

COLL_COMPLEX(c64, f64)
COLL_FOLD_NATIVE(c64, struct c64)
COLL_FOLD_COMPLEX(c64, b128)
