// SPDX-License-Identifier: GPL-2.0 OR MIT
#define VEC_BYTES	64
#define COLL_SIMD_NAME	"avx512"
#define COLL_SIMD_TABLE	coll_simd_avx512
#include "reduce_template.h"
