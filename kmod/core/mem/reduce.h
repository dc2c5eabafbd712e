/* SPDX-License-Identifier: GPL-2.0 */
/* The instruction set chosen for this machine, and calls to it. */
#ifndef COLL_CORE_REDUCE_H
#define COLL_CORE_REDUCE_H

#include "../../pure/reduction/exact.h"
#include "../../pure/reduction/factor.h"
#include "../../pure/reduction/wide.h"
#include "../../simd/simd.h"

/* Bytes of the largest element, and of the largest partial result, of all operators and types. */
#define COLL_ELEM_MAX		32
#define COLL_PARTIAL_MAX	COLL_EXACT_MAX

/**
 * coll_reduce_init() - choose the instruction set, once, at load
 * @want: name of an instruction set; "": the one that is the fastest in a measurement
 *
 * Return: 0, or -EINVAL if @want is unknown or the CPU does not have it; -ENOMEM.
 */
int coll_reduce_init(const char *want);

/* Name of the instruction set that was chosen. */
const char *coll_reduce_name(void);

/**
 * struct coll_wire_type - f32 in memory, and a type of 16 bits on links
 * @narrow: kernel that converts f32 to that type, rounded as pure/reduction/reduce.h says
 * @widen: kernel that converts back, exactly
 * @elem: bytes of an element of that type; 0: elements are sent as they are
 * @section: bytes that one FPU section may move
 */
struct coll_wire_type {
	coll_reduce_fn *narrow;
	coll_reduce_fn *widen;
	u32 elem;
	u32 section;
};

/**
 * struct coll_reducer - an operator on a type, ready to run
 * @final: kernel whose result is the op's result
 * @part: kernel whose result is folded again; NULL: nothing is reduced
 * @wide: if @widened: the kernels that are used instead, see wide.h
 * @widened: partial results have more room than elements
 * @plain: if @widened: @final has the same result in one pass without partial results
 * @elem: bytes of an element of the type
 * @partial: bytes of a partial result
 * @section: bytes that one FPU section may move; 0: it needs no FPU
 * @max_in: the most inputs of one call
 * @x87: the FPU section needs the x87 as well
 * @divisor: avg: ranks of the communicator
 * @scaled: results are changed by @after
 * @after: how results are divided, multiplied and rounded, see factor.h
 * @wire: type of elements on links, if it is not the type of the vectors
 */
struct coll_reducer {
	coll_reduce_fn *final;
	coll_reduce_fn *part;
	struct coll_wide wide;
	bool widened;
	bool plain;
	u32 elem;
	u32 partial;
	u32 section;
	u32 max_in;
	bool x87;
	u32 divisor;
	bool scaled;
	struct coll_after after;
	struct coll_wire_type wire;
};

/**
 * struct coll_scaling - factors of a reduction besides those of premulsum
 * @wide: factors of premulsum have the type of partial results, if that is larger
 * @divide: results are divided as those of avg
 * @post: factor by which results are multiplied afterwards: bits of an f64; 0: none
 */
struct coll_scaling {
	bool wide;
	bool divide;
	u64 post;
};

/**
 * coll_reducer_setup() - look up an operator on a type
 * @r: result; the caller sets @divisor afterwards
 * @op: enum coll_op_code
 * @dtype: enum coll_dtype
 * @wide: give partial results more room, for operators and types of wide.h
 *
 * @r->part is NULL if coll_op_defined() is false.
 */
void coll_reducer_setup(struct coll_reducer *r, u32 op, u32 dtype, bool wide);

/**
 * coll_reducer_scale() - add factors
 * @r: set up, for a real floating-point type, with @divisor set
 * @dtype: as in coll_reducer_setup()
 * @s: factors; coll_factor() has accepted @s->post
 */
void coll_reducer_scale(struct coll_reducer *r, u32 dtype, const struct coll_scaling *s);

/**
 * coll_reducer_wire() - give elements a smaller type on links
 * @r: set up, for COLL_F32 and without more room for partial results, after
 *	coll_reducer_scale()
 * @type: COLL_F16 or COLL_BF16
 *
 * Results are rounded to that type, too: so local results equal those that have been sent.
 */
void coll_reducer_wire(struct coll_reducer *r, u32 type);

/* Round @count elements of f32 to the type on links. Process context. */
void coll_narrow_run(const struct coll_wire_type *w, void *out, const void *in, size_t count);

/* Convert @count elements from the type on links to f32, into @nr_out vectors. Process context. */
void coll_widen_run(const struct coll_wire_type *w, void **out, unsigned int nr_out,
		    const void *in, size_t count);

/**
 * coll_reduce_run() - fold vectors, in FPU sections of bounded length
 * @r: the operator
 * @final: outputs are results, else partial results
 * @out: see coll_reduce_fn; clobbered
 * @nr_out: see coll_reduce_fn
 * @in: see coll_reduce_fn; clobbered. Any number.
 * @nr_in: number of @in
 * @arg: see coll_reduce_fn; @arg->divisor is that of @r
 * @bounce: memory outside of the vectors. If @r->widened: COLL_WIDE_ROOM bytes. Else, if there are
 *	more inputs than @r->max_in: room for @count partial results, because the inputs are
 *	folded in several passes.
 * @count: elements
 *
 * Process context.
 */
void coll_reduce_run(const struct coll_reducer *r, bool final, void **out,
		     unsigned int nr_out, const void **in, unsigned int nr_in,
		     struct coll_reduce_arg arg, void *bounce, size_t count);

/**
 * coll_copy_run() - copy one vector to several
 * @out: vectors, each @bytes long; those that are @in itself are left alone
 * @nr_out: number of @out
 * @in: vector
 * @stream: stores may go past the caches; see struct coll_reduce_arg
 * @bytes: length of each vector
 *
 * Process context.
 */
void coll_copy_run(void **out, unsigned int nr_out, const void *in, bool stream,
		   size_t bytes);

#endif /* COLL_CORE_REDUCE_H */
