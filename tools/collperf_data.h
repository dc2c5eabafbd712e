/* SPDX-License-Identifier: GPL-2.0 */
/* Test data, and what has to come of it. */
#ifndef COLLPERF_DATA_H
#define COLLPERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

struct shape;

/* The largest element there is, in bytes. */
#define LARGEST_ELEM	32

/* Everything that the values of one vector depend on. */
struct data_spec {
	enum coll_collective what;
	enum coll_dtype dtype;
	enum coll_op_code op;
	uint32_t rank, size, root;
	bool narrow;	/* partial results are elements */
};

/* Test data of @count elements at most, @iters times; NULL: no memory. */
struct data *data_new(const struct data_spec *spec, uint64_t count, uint32_t iters);
void data_free(struct data *d);
/* This rank's input of @count elements, another one in every iteration. */
void data_fill(const struct data *d, uint32_t iter, void *buf, uint64_t count);
/* How many elements of a result are not bit by bit what they should be. */
uint64_t data_check(const struct data *d, uint32_t iter, const void *buf, const struct shape *s);
/**
 * struct format - how a number is stored
 * @bytes: that it takes
 * @mant: floats: bits of the fraction; 0: an integer
 * @is_signed: may be negative
 * @x87: the leading bit of the significand is stored, too
 */
struct format {
	uint8_t bytes, mant;
	bool is_signed, x87;
};

/**
 * struct elem_type - what an element is made of
 * @part: its numbers; the second one is NULL, the imaginary part, or an index
 * @offset: of the second, in bytes
 * @pair: the second one is an index
 */
struct elem_type {
	const struct format *part[2];
	uint8_t offset;
	bool pair;
};

/* An element as numbers, all of which are stored exactly. */
struct value {
	int64_t part[2];
};

const struct elem_type *elem_type(enum coll_dtype dtype);
/* Largest integer below which @f has all others; no more than 2^24. */
int64_t format_limit(const struct format *f);
/* The value of an integer type after an overflow to @v. */
int64_t format_wrap(const struct format *f, int64_t v);
/* Store @v at @elem; @fill goes to the bytes that no number takes. */
void elem_put(enum coll_dtype dtype, const struct value *v, uint8_t fill, void *elem);
/* @fill to the bytes of @elem that no number takes. */
void elem_clear(enum coll_dtype dtype, uint8_t fill, void *elem);

/* Input @s of the period of rank @r, and the fold of the ranks whose data this one gets. */
struct value value_input(const struct data_spec *d, uint32_t r, uint32_t s);
struct value value_result(const struct data_spec *d, uint32_t s);

/* This rank's factor, for COLL_OP_PREMULSUM. */
uint64_t data_scalar(const struct data_spec *spec);

#endif
