// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "pair.h"

struct adasum_products adasum_products(const void *a, const void *b, uint64_t n, bool wide)
{
	const double *a64 = a, *b64 = b;
	const float *a32 = a, *b32 = b;
	struct adasum_products p = { 0 };
	double x, y;
	uint64_t i;

	for (i = 0; i < n; i++) {
		x = wide ? a64[i] : (double)a32[i];
		y = wide ? b64[i] : (double)b32[i];
		p.aa += x * x;
		p.bb += y * y;
		p.ab += x * y;
	}
	return p;
}

/* Without a length there is no direction either: the other vector stays as it is. */
static double factor(double ab, double square)
{
	return square > 0 ? 1 - ab / (2 * square) : 1;
}

struct adasum_factors adasum_factors(const struct adasum_products *p)
{
	return (struct adasum_factors){ factor(p->ab, p->aa), factor(p->ab, p->bb) };
}

void adasum_combine(void *to, const void *a, const void *b, uint64_t n,
		    const struct adasum_factors *f, bool wide)
{
	const double *a64 = a, *b64 = b;
	const float *a32 = a, *b32 = b;
	uint64_t i;

	if (wide)
		for (i = 0; i < n; i++)
			((double *)to)[i] = f->a * a64[i] + f->b * b64[i];
	else
		for (i = 0; i < n; i++)
			((float *)to)[i] = (float)(f->a * (double)a32[i] + f->b * (double)b32[i]);
}
