// SPDX-License-Identifier: GPL-2.0
#define VEC_BYTES	32
#define VEC_STREAM	__builtin_ia32_movntps256
#define LOOPS		limit_avx2
#define LOOPS_NAME	"avx2"
#include "loop.h"
