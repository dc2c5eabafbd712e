// SPDX-License-Identifier: GPL-2.0
#define VEC_BYTES	16
#define VEC_STREAM	__builtin_ia32_movntps
#define LOOPS		limit_sse2
#define LOOPS_NAME	"sse2"
#include "loop.h"
