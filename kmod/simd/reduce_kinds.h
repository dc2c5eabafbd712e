/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All kinds of elements, and the reduction of each. */
#ifndef COLL_SIMD_REDUCE_KINDS_H
#define COLL_SIMD_REDUCE_KINDS_H

#include "reduce_float.h"
#include "reduce_int.h"
#include "reduce_pair.h"
#include "reduce_small.h"
#include "reduce_sweep.h"

/* Number of vectors that one vector of elements becomes while it is folded. */
#define PARTS_u8	1
#define PARTS_s8	1
#define PARTS_u16	1
#define PARTS_s16	1
#define PARTS_u32	1
#define PARTS_s32	1
#define PARTS_u64	1
#define PARTS_s64	1
#define PARTS_f32	1
#define PARTS_f64	1
#define PARTS_c32	1
#define PARTS_c64	1
#define PARTS_f32_i32	1
#define PARTS_f64_i32	1
#define PARTS_i64_i32	1
#define PARTS_i32_i32	1
#define PARTS_i16_i32	1
#define PARTS_f32_f32	1
#define PARTS_f64_f64	1
#define PARTS_f16	2
#define PARTS_bf16	2
#define PARTS_e4m3	4
#define PARTS_e5m2	4

#define KIND u8
#include "reduce_kind.h"
#define KIND s8
#include "reduce_kind.h"
#define KIND u16
#include "reduce_kind.h"
#define KIND s16
#include "reduce_kind.h"
#define KIND u32
#include "reduce_kind.h"
#define KIND s32
#include "reduce_kind.h"
#define KIND u64
#include "reduce_kind.h"
#define KIND s64
#include "reduce_kind.h"
#define KIND f32
#define KIND_HAS_NAN
#include "reduce_kind.h"
#define KIND f64
#define KIND_HAS_NAN
#include "reduce_kind.h"
#define KIND c32
#define KIND_HAS_NAN
#include "reduce_kind.h"
#define KIND c64
#define KIND_HAS_NAN
#include "reduce_kind.h"
#define KIND f32_i32
#include "reduce_kind.h"
#define KIND f64_i32
#include "reduce_kind.h"
#define KIND i64_i32
#include "reduce_kind.h"
#define KIND i32_i32
#include "reduce_kind.h"
#define KIND i16_i32
#include "reduce_kind.h"
#define KIND f32_f32
#include "reduce_kind.h"
#define KIND f64_f64
#include "reduce_kind.h"
#define KIND f16
#include "reduce_kind.h"
#define KIND bf16
#include "reduce_kind.h"
#define KIND e4m3
#include "reduce_kind.h"
#define KIND e5m2
#include "reduce_kind.h"

#endif /* COLL_SIMD_REDUCE_KINDS_H */
