// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* How long an algorithm takes. */
#include "select_time.h"

/* From this size on, bytes count for more than messages. */
#define TELLING		65536

double select_estimate(const struct select_time *t, uint32_t k)
{
	uint32_t j = k;
	double more;

	while (j && !t->measured[j])
		j--;
	if (j == k || !t->measured[j])
		return t->measured[k] ? t->measured[k] : t->model[k];
	/* The time of a long vector gives a factor for the model, that of a short one an offset. */
	if (SELECT_BYTES(j) >= TELLING && t->model[j] > 0)
		return t->measured[j] * t->model[k] / t->model[j];
	more = t->model[k] - t->model[j];
	return t->measured[j] + (more > 0 ? more : 0);
}
