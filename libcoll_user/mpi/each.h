/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* EACH(f, a, b, c) is f(a) f(b) f(c), of up to ten words. */
#ifndef LIBCOLL_MPI_EACH_H
#define LIBCOLL_MPI_EACH_H

#define EACH(f, ...)								\
	EACH_COUNT(__VA_ARGS__, EACH_10, EACH_9, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, \
		   EACH_3, EACH_2, EACH_1, none)(f, __VA_ARGS__)
#define EACH_COUNT(a, b, c, d, e, g, h, i, j, k, is, ...)	is

#define EACH_1(f, x)		f(x)
#define EACH_2(f, x, ...)	f(x) EACH_1(f, __VA_ARGS__)
#define EACH_3(f, x, ...)	f(x) EACH_2(f, __VA_ARGS__)
#define EACH_4(f, x, ...)	f(x) EACH_3(f, __VA_ARGS__)
#define EACH_5(f, x, ...)	f(x) EACH_4(f, __VA_ARGS__)
#define EACH_6(f, x, ...)	f(x) EACH_5(f, __VA_ARGS__)
#define EACH_7(f, x, ...)	f(x) EACH_6(f, __VA_ARGS__)
#define EACH_8(f, x, ...)	f(x) EACH_7(f, __VA_ARGS__)
#define EACH_9(f, x, ...)	f(x) EACH_8(f, __VA_ARGS__)
#define EACH_10(f, x, ...)	f(x) EACH_9(f, __VA_ARGS__)

#endif
