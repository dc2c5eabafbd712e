/* SPDX-License-Identifier: GPL-2.0 */
/* An allreduce over several links between nodes. */
#ifndef STRIPES_H
#define STRIPES_H

#include <stdint.h>
#include <stdlib.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
/* Elements of an allreduce of i32 that has several parts of LEAST bytes */
#define COUNT	4001
#define LEAST	1000

/*
 * An allreduce of @count numbers by all ranks.
 * Return: 0, the error that all ranks got, or 1 if results are wrong or ranks differ.
 */
static inline int sum(struct raw_comm *c, uint64_t count)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX], ret;
	int32_t *in[RAW_MAX], *out[RAW_MAX];
	uint64_t i, wrong = 0;
	uint32_t r;

	for (r = 0; r < c->size; r++) {
		in[r] = malloc(count * 4 + 4);
		out[r] = calloc(count + 1, 4);
		for (i = 0; i < count; i++)
			in[r][i] = test_value(r, i);
		raw_allreduce(&cmds[r], in[r], out[r], count, COLL_I32, COLL_OP_SUM);
		cmds[r].timeout_ns = 10 * SECOND;
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < c->size && !ret; r++) {
		for (i = 0; i < count && !results[r]; i++)
			wrong += out[r][i] != test_value_sum(c->size, i);
		wrong += out[r][count] != 0 || results[r] != results[0];
	}
	for (r = 0; r < c->size; r++) {
		free(in[r]);
		free(out[r]);
	}
	return ret ?: wrong ? 1 : results[0];
}

#endif /* STRIPES_H */
