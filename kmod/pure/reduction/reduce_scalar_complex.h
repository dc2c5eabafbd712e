/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The scalar reference: complex numbers of any float that has COLL_FOLD_ONE_NAN().
 * Not C's own: its product repairs infinities, and calls a library.
 */
#ifndef COLL_PURE_REDUCE_SCALAR_COMPLEX_H
#define COLL_PURE_REDUCE_SCALAR_COMPLEX_H

#define COLL_COMPLEX(type, part)						\
struct type {									\
	acc_##part re;								\
	acc_##part im;								\
};										\
										\
static inline struct type sum_##type(struct type a, struct type b)		\
{										\
	return (struct type){ a.re + b.re, a.im + b.im };			\
}										\
										\
static inline struct type prod_##type(struct type a, struct type b)		\
{										\
	return (struct type){							\
		a.re * b.re - a.im * b.im,					\
		a.re * b.im + a.im * b.re,					\
	};									\
}										\
										\
static inline struct type one_nan_##type(struct type a)				\
{										\
	return (struct type){ one_nan_##part(a.re), one_nan_##part(a.im) };	\
}										\
										\
static inline struct type avg_##type(struct type a, acc_##part n)		\
{										\
	return one_nan_##type((struct type){ a.re / n, a.im / n });		\
}

#define COLL_FOLD_COMPLEX(type, bits)						\
COLL_FOLD(sum, type, bits, sum_##type(a, b), one_nan_##type(a))			\
COLL_FOLD(prod, type, bits, prod_##type(a, b), one_nan_##type(a))		\
COLL_FOLD_AVG(type, sum_##type(a, b), avg_##type(a, n))

#endif /* COLL_PURE_REDUCE_SCALAR_COMPLEX_H */
