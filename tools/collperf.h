/* SPDX-License-Identifier: GPL-2.0 */
/* collperf: times collectives and checks their results. */
#ifndef COLLPERF_H
#define COLLPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

/**
 * struct perf_options - the command line
 * @dtypes: bit n: enum coll_dtype n is asked for
 * @ops: bit n: enum coll_op_code n; every pair that is defined gets its turn
 * @min: bytes of the first vector
 * @max: bytes of the last at most
 * @factor: from one size to the next
 * @ioctl: blocking calls; else nonblocking and wait
 * @name: of an algorithm, as it was given
 * @algorithm: enum coll_algorithm_id; 0: what the communicator's tables say
 * @segment: bytes of the pipelining unit; 0: what the communicator's tables say
 */
struct perf_options {
	enum coll_collective what;
	uint64_t dtypes, ops;
	uint64_t min, max;
	double factor;
	uint32_t root;
	const char *name;
	uint16_t algorithm;
	uint64_t segment;
	int iters, warmup;
	bool check, ioctl, inplace, registered, narrow;
};

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
uint64_t data_check(const struct data *d, uint32_t iter, const void *buf, uint64_t count);
/* This rank's factor, for COLL_OP_PREMULSUM. */
uint64_t data_scalar(const struct data_spec *spec);

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
/* The largest integer up to which @f has every integer; at most 2^24. */
int64_t format_limit(const struct format *f);
/* The value of an integer type after an overflow to @v. */
int64_t format_wrap(const struct format *f, int64_t v);
/* Store @v at @elem; @fill goes to the bytes that no number takes. */
void elem_put(enum coll_dtype dtype, const struct value *v, uint8_t fill, void *elem);

/* Number of pairs of type and operator that @opt selects; a barrier has none. */
unsigned int perf_pairs(const struct perf_options *opt);
/* Run every pair and size in turn. Return: 0; 1 after wrong elements; 2 after errors. */
int perf_run(coll_comm_t *comm, const struct perf_options *opt);
/*
 * As perf_run(), with messages instead of collectives: there and back between rank 0 and the
 * last one.
 */
int perf_pair(coll_comm_t *comm, const struct perf_options *opt);

#endif
