// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of f32 that are sent as f16 or bf16 differ from the exact sums by no more than the
 * roundings on the way allow. All ranks get the same bits.
 */
#include "wire_types.h"

/*
 * One rounding changes a number by at most 2^-p of it. No partial sum is larger than S, the sum
 * of the magnitudes. So H roundings change the result by at most ((1 + 2^-p)^H - 1) * S. H is at
 * most the number of nodes: one rounding for each link of the way, and one of the result. f32
 * itself adds 2^-24 for each rank. Tested with the ring and with the default algorithm.
 */
TEST(error_is_bounded)
{
	double exact, sum, bound, unit;
	struct raw_comm c;
	uint32_t r, i, count, wire;
	size_t s, k;

	rnd = test_seed();
	for (s = 0; s < NR(shapes); s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (k = 0; k < 8; k++) {
			wire = wires[k & 1];
			count = 1 + random32() % COUNT;
			for (r = 0; r < c.size; r++)
				for (i = 0; i < count; i++)
					in[r][i] = (float)(int32_t)random32() / (1U << 31);
			run(_metadata, &c, COLL_OP_SUM, count,
			    k & 2 ? COLL_ALG_RING : COLL_ALG_AUTO, wire);
			unit = ldexp(1, wire == COLL_CMD_WIRE_F16 ? -11 : -8);
			for (i = 0; i < count; i++) {
				exact = 0;
				sum = ldexp(1, -14);
				for (r = 0; r < c.size; r++) {
					exact += in[r][i];
					sum += fabs(in[r][i]);
				}
				bound = (pow(1 + unit, c.nodes) - 1 + ldexp(c.size, -24)) * sum;
				for (r = 0; r < c.size; r++) {
					ASSERT_EQ(to_bits(out[0][i]), to_bits(out[r][i]));
					ASSERT_GE(bound, fabs(out[r][i] - exact));
				}
				/* The result is a number of that type. */
				ASSERT_EQ(to_bits(rounded(out[0][i], wire)), to_bits(out[0][i]));
			}
		}
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
