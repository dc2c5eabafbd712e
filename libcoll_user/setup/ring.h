/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* An order of the hosts in which neighbours are near each other. */
#ifndef LIBCOLL_RING_H
#define LIBCOLL_RING_H

#include <stdbool.h>
#include <stdint.h>

/* Up to this many hosts all orders are tried, which takes little time. */
#define RING_EXACT	9

/**
 * ring_length() - sum of the distances from each host to the next, and from the last to the first
 * @n: hosts
 * @far: [n * n], distance from one host to another, the same in both directions
 * @order: [n]
 */
double ring_length(uint32_t n, const double *far, const uint32_t *order);

/**
 * ring_order() - find an order with a short ring
 * @all: look at all orders: the result is the best one, after n! steps at most; else a
 *	good one is found
 * @order: [n]; the order to beat, and the result, which begins with any host
 *
 * Return: 0 or -ENOMEM.
 */
int ring_order(uint32_t n, const double *far, bool all, uint32_t *order);

#endif
