// SPDX-License-Identifier: GPL-2.0 OR MIT
#define VEC_BYTES	16
#define COLL_SIMD_NAME	"neon"
#define COLL_SIMD_TABLE	coll_simd_neon
#include "reduce_template.h"
