/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* How long an algorithm takes. */
#ifndef LIBCOLL_SELECT_TIME_H
#define LIBCOLL_SELECT_TIME_H

#include "select_tables.h"

/**
 * struct select_time - what is known of one algorithm
 * @alg: the algorithm
 * @segment: bytes of the pipelining unit, 0: the kernel's
 * @model: seconds at each size by the model
 * @measured: seconds at each size as measured; 0: not measured
 */
struct select_time {
	const struct coll_algorithm *alg;
	uint32_t segment;
	double model[SELECT_SIZES];
	double measured[SELECT_SIZES];
};

/* Seconds at size @k: measured, or the model corrected by what was measured. */
double select_estimate(const struct select_time *t, uint32_t k);

#endif
