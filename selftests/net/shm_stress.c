// SPDX-License-Identifier: GPL-2.0
/*
 * usage: shm_stress kill|scribble|differ TIMES
 *
 * Small collectives in shared memory under stress, by the library. COLL_TEST_SEED=n repeats a
 * run. See shm_kill.c, shm_scribble.c, shm_differ.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm_job.h"
#include "util.h"

int main(int argc, char **argv)
{
	unsigned int times = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	const char *given = getenv("COLL_TEST_SEED"), *mode = argc > 1 ? argv[1] : "";
	uint64_t seed = given ? strtoull(given, NULL, 0) : test_now_ns() & 0xffffffff;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# %s: seeds from %" PRIu64 " on (COLL_TEST_SEED=n shm_stress %s 1 repeats one)\n",
	       mode, seed, mode);
	if (!strcmp(mode, "kill"))
		return shm_kill(times, seed);
	if (!strcmp(mode, "scribble"))
		return shm_scribble(times, seed);
	if (!strcmp(mode, "differ"))
		return shm_differ(times, seed);
	return 2;
}
