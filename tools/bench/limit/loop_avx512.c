// SPDX-License-Identifier: GPL-2.0
#define VEC_BYTES	64
#define VEC_STREAM	__builtin_ia32_movntps512
#define LOOPS		limit_avx512
#define LOOPS_NAME	"avx512"
#include "loop.h"
