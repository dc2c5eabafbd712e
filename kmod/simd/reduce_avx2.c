// SPDX-License-Identifier: GPL-2.0 OR MIT
#define VEC_BYTES	32
#define COLL_SIMD_NAME	"avx2"
#define COLL_SIMD_TABLE	coll_simd_avx2
#include "reduce_template.h"
