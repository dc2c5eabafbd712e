/* SPDX-License-Identifier: GPL-2.0 */
/* The communicators on which blocks with gaps are tested. */
#ifndef GAPS_FIXTURE_H
#define GAPS_FIXTURE_H

#include "gaps.h"
#include "harness.h"

FIXTURE(gaps) {
	struct gaps g;
};

FIXTURE_VARIANT(gaps) {
	uint32_t size;
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(gaps, two) { .size = 2, .nodes = 1 };
FIXTURE_VARIANT_ADD(gaps, four) { .size = 4, .nodes = 1 };
FIXTURE_VARIANT_ADD(gaps, two_nodes) { .size = 2, .nodes = 2 };
FIXTURE_VARIANT_ADD(gaps, three_nodes) { .size = 3, .nodes = 3 };
FIXTURE_VARIANT_ADD(gaps, four_on_two_nodes) { .size = 4, .nodes = 2 };

FIXTURE_SETUP(gaps)
{
	ASSERT_EQ(0, gaps_start(&self->g, variant->size, variant->nodes));
}

FIXTURE_TEARDOWN(gaps)
{
	gaps_stop(&self->g);
}

#endif /* GAPS_FIXTURE_H */
