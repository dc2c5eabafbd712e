/* SPDX-License-Identifier: GPL-2.0 */
/* The two sizes of tensors in a fusion whose tensors end one by one. */
#ifndef NAMED_EARLY_H
#define NAMED_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "stalls.h"
#include "util.h"

#define SECOND		1000000000ULL
#define MODE		"/sys/module/coll/parameters/send_mode"
/* Elements. A fusion between nodes has no tensor of more than 512 KiB. */
#define SLOT		100
#define LARGE		100001

static inline int32_t value(uint32_t rank, uint32_t tensor, uint32_t i)
{
	return test_value(rank, i + 1000000 * tensor);
}

/*
 * Wait until node 0 knows that all ranks but one have posted all tensors, at most 20 s.
 * @n: tensors times real nodes. Node 0 lists the missing rank for each tensor; each other node
 * lists the tensors that its ranks have posted.
 */
static inline bool only_missing(int n)
{
	int k;

	for (k = 0; k < 2000 && stalls_dump(NULL, 0) != n; k++)
		test_sleep_us(10000);
	return k < 2000;
}

#endif /* NAMED_EARLY_H */
