// SPDX-License-Identifier: GPL-2.0
/* Clock and medians. */
#include <stdlib.h>

#include "clock.h"
#include "collperf.h"

const char *perf_clock_name(void)
{
	return clock_name();
}

double perf_now_us(void)
{
	return clock_now_us();
}

static int cmp_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

double perf_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), cmp_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
