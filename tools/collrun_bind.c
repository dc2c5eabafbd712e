// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "collrun.h"

#define MOST_CPUS	(1 << 20)

/* The CPUs that this process may use. *@cpus: how many the set has room for. NULL: errno is set */
static cpu_set_t *allowed(int *cpus)
{
	cpu_set_t *set;

	/* The kernel refuses a set that has no room for all CPUs there may be. */
	for (*cpus = CPU_SETSIZE; *cpus <= MOST_CPUS; *cpus *= 2) {
		set = CPU_ALLOC((size_t)*cpus);
		if (!set || !sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)*cpus), set))
			return set;
		CPU_FREE(set);
		if (errno != EINVAL)
			return NULL;
	}
	return NULL;
}

int bind_rank(int rank)
{
	int cpus, cpu, nth, ret;
	cpu_set_t *set;
	size_t size;

	set = allowed(&cpus);
	if (!set)
		return -1;
	size = CPU_ALLOC_SIZE((size_t)cpus);
	nth = rank % CPU_COUNT_S(size, set);
	for (cpu = 0; cpu < cpus; cpu++)
		if (CPU_ISSET_S((size_t)cpu, size, set) && !nth--)
			break;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	ret = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return ret;
}
