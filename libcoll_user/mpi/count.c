// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "count.h"

/* Functions, then their nonblocking forms. */
static _Atomic uint64_t counts[2 * NR_FUNCTIONS][NR_REASONS];

#define COUNT_NAME(name)	#name,
static const char *const names[] = { COUNT_FUNCTIONS(COUNT_NAME) };

static const char *const reasons[NR_REASONS] = {
	[TAKEN] = "taken",
	[ARGUMENT] = "wrong argument",
	[ALONE] = "one rank",
	[BETWEEN] = "intercommunicator",
	[UNUSABLE] = "no communicator of coll",
	[EARLY] = "nonblocking before any blocking one",
	[OPERATOR] = "operator or type",
	[EMPTY] = "no bytes",
	[SLOWER] = "slower",
	[LARGE] = "too large",
};

void count_call(enum function fn, bool blocking, enum reason why)
{
	counts[fn + (blocking ? 0 : NR_FUNCTIONS)][why]++;
}

const char *count_name(enum function fn)
{
	return names[fn];
}

static uint64_t calls_of(unsigned int form)
{
	uint64_t sum = 0;
	unsigned int why;

	for (why = 0; why < NR_REASONS; why++)
		sum += counts[form][why];
	return sum;
}

/* One write per line: ranks share stderr. */
static void print_form(int rank, unsigned int form)
{
	bool blocking = form < NR_FUNCTIONS;
	char line[512];
	unsigned int why;
	size_t at;

	at = (size_t)snprintf(line, sizeof(line), "coll_mpi: rank %d: MPI_%s%s:", rank,
			      blocking ? "" : "I", names[form % NR_FUNCTIONS]);
	if (!blocking)
		line[at - strlen(names[form % NR_FUNCTIONS]) - 1] |= 'a' - 'A';
	for (why = 0; why < NR_REASONS; why++)
		if (counts[form][why] || why == TAKEN)
			at += (size_t)snprintf(line + at, sizeof(line) - at, "%s %s %llu",
					       why == TAKEN ? "" : ",", reasons[why],
					       (unsigned long long)counts[form][why]);
	fprintf(stderr, "%s\n", line);
}

void count_print(int rank)
{
	unsigned int form;
	uint32_t on;

	if (env_u32("COLL_MPI_STATS", 0, 1, &on) || !on)
		return;
	for (form = 0; form < 2 * NR_FUNCTIONS; form++)
		if (calls_of(form))
			print_form(rank, form);
}
