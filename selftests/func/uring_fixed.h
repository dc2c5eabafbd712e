/* SPDX-License-Identifier: GPL-2.0 */
/* The communicators whose ranks have memory that is registered with their rings. */
#ifndef URING_FIXED_H
#define URING_FIXED_H

#include "fixed.h"
#include "harness.h"
#include "raw.h"

#define FIXED_MAX	4

FIXTURE(fixed)
{
	struct raw_comm c;
	struct fixed f[FIXED_MAX];
	size_t bytes;
};

FIXTURE_VARIANT(fixed)
{
	uint32_t size;
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(fixed, node)	{ .size = 3, .nodes = 1 };
FIXTURE_VARIANT_ADD(fixed, nodes)	{ .size = 3, .nodes = 2 };

FIXTURE_SETUP(fixed)
{
	uint32_t r;

	self->bytes = 4 << 20;
	ASSERT_EQ(0, raw_start(&self->c, variant->size, variant->nodes));
	for (r = 0; r < variant->size; r++)
		ASSERT_EQ(0, fixed_init(&self->f[r], self->c.fd[r], self->bytes, 0));
}

FIXTURE_TEARDOWN(fixed)
{
	uint32_t r;

	for (r = 0; r < variant->size; r++)
		fixed_exit(&self->f[r]);
	raw_stop(&self->c);
}

#endif /* URING_FIXED_H */
