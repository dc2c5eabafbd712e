// SPDX-License-Identifier: GPL-2.0
/*
 * Inputs and expected results. Values repeat after a prime number of elements: wherever a
 * piece of a vector might be put wrongly, it does not fit. Padding has garbage in inputs; what
 * is only moved keeps it, and reductions leave 0; scans may leave either.
 */
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "collperf_data.h"
#include "collperf_shape.h"
#include "optable.h"

#define PERIOD	4093
#define GARBAGE	0xdb

/**
 * struct data - tables of one period
 * @elem: bytes of an element
 * @period: elements; fewer than PERIOD if no vector is that long
 * @input: elements of this rank
 * @result: tables of what results are made of: the fold, or the input of the root, or that of
 *	each rank
 */
struct data {
	struct data_spec spec;
	size_t elem, period;
	uint8_t *input, *result;
};

static bool reduces(const struct data_spec *d)
{
	return coll_kind_of(d->what)->flags & COLL_KIND_REDUCES;
}

/* Does each block of the result come from another rank? */
static bool comes_from_all(const struct data_spec *d)
{
	switch (d->what) {
	case COLL_ALLGATHER:
	case COLL_ALLGATHERV:
	case COLL_GATHER:
	case COLL_GATHERV:
	case COLL_ALLTOALL:
	case COLL_ALLTOALLV:
		return true;
	default:
		return false;
	}
}

/* Does a rank get its own block of vectors of all blocks? */
static bool gets_its_block(const struct data_spec *d)
{
	switch (d->what) {
	case COLL_REDUCE_SCATTER:
	case COLL_REDUCE_SCATTER_BLOCK:
	case COLL_SCATTER:
	case COLL_SCATTERV:
	case COLL_ALLTOALL:
	case COLL_ALLTOALLV:
		return true;
	default:
		return false;
	}
}

static void make_input(const struct data *d, uint32_t rank, uint8_t *table)
{
	struct value v;
	uint32_t s;

	for (s = 0; s < d->period; s++) {
		v = value_input(&d->spec, rank, s);
		elem_put(d->spec.dtype, &v, GARBAGE, table + s * d->elem);
	}
}

static void make_fold(const struct data *d)
{
	struct value v;
	uint32_t s;

	for (s = 0; s < d->period; s++) {
		v = value_result(&d->spec, s);
		elem_put(d->spec.dtype, &v, 0, d->result + s * d->elem);
	}
}

static void make_results(const struct data *d)
{
	uint32_t r;

	if (reduces(&d->spec))
		make_fold(d);
	else if (!comes_from_all(&d->spec))
		make_input(d, d->spec.root, d->result);
	else
		for (r = 0; r < d->spec.size; r++)
			make_input(d, r, d->result + r * d->period * d->elem);
}

struct data *data_new(const struct data_spec *spec, uint64_t count, uint32_t iters)
{
	struct data *d = calloc(1, sizeof(*d));
	size_t tables = comes_from_all(spec) ? spec->size : 1;

	if (!d)
		return NULL;
	d->spec = *spec;
	d->elem = coll_dtype_size(spec->dtype);
	d->period = count + iters < PERIOD ? count + iters : PERIOD;
	d->input = malloc(d->period * d->elem);
	d->result = malloc(tables * d->period * d->elem);
	if (!d->input || !d->result) {
		data_free(d);
		return NULL;
	}
	make_input(d, spec->rank, d->input);
	make_results(d);
	return d;
}

void data_free(struct data *d)
{
	if (!d)
		return;
	free(d->input);
	free(d->result);
	free(d);
}

/* Elements from @i on that lie in one piece in the tables, which begin at @at. */
static uint64_t piece(const struct data *d, uint64_t from, uint64_t i, uint64_t count,
		      size_t *at)
{
	*at = (i + from) % d->period;
	return count - i < d->period - *at ? count - i : d->period - *at;
}

void data_fill(const struct data *d, uint32_t iter, void *buf, uint64_t count)
{
	uint64_t i, n;
	size_t at;

	for (i = 0; i < count; i += n) {
		n = piece(d, iter, i, count, &at);
		memcpy((uint8_t *)buf + i * d->elem, d->input + at * d->elem, n * d->elem);
	}
}

/* A scan in place leaves padding as it is. */
static bool has_any_padding(const struct data_spec *d)
{
	return d->what == COLL_SCAN || d->what == COLL_EXSCAN;
}

static bool differs(const struct data *d, const uint8_t *is, const uint8_t *should)
{
	uint8_t elem[LARGEST_ELEM];

	if (!memcmp(is, should, d->elem))
		return false;
	if (!has_any_padding(&d->spec))
		return true;
	memcpy(elem, is, d->elem);
	elem_clear(d->spec.dtype, 0, elem);
	return memcmp(elem, should, d->elem);
}

/* Elements of @buf that are not those of @table from @from on. */
static uint64_t check_block(const struct data *d, const uint8_t *table, uint64_t from,
			    const uint8_t *buf, uint64_t count)
{
	uint64_t i, k, n, wrong = 0;
	size_t at;

	for (i = 0; i < count; i += n) {
		const uint8_t *is = buf + i * d->elem, *should;

		n = piece(d, from, i, count, &at);
		should = table + at * d->elem;
		if (!memcmp(is, should, n * d->elem))
			continue;
		for (k = 0; k < n; k++)
			wrong += differs(d, is + k * d->elem, should + k * d->elem);
	}
	return wrong;
}

uint64_t data_check(const struct data *d, uint32_t iter, const void *buf, const struct shape *s)
{
	uint64_t from = iter + (gets_its_block(&d->spec) ? d->spec.rank * s->count : 0);
	uint64_t i, wrong = 0;

	if (!comes_from_all(&d->spec))
		return check_block(d, d->result, from, buf, s->out);
	for (i = 0; i * s->count < s->out; i++)
		wrong += check_block(d, d->result + i * d->period * d->elem, from,
				     (const uint8_t *)buf + i * s->count * d->elem, s->count);
	return wrong;
}
