// SPDX-License-Identifier: GPL-2.0 OR MIT
#define VEC_BYTES	16
#define COLL_SIMD_NAME	"sse2"
#define COLL_SIMD_TABLE	coll_simd_sse2
#include "reduce_template.h"
