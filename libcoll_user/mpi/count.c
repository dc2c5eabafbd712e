// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "count.h"

static _Atomic uint64_t counts[NR_FORMS][NR_FUNCTIONS][NR_REASONS];
static _Atomic uint64_t starts;

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
	[OUTSIDE] = "waits outside",
	[MANY] = "too many persistent ones",
};

void count_call(enum function fn, enum form form, enum reason why)
{
	counts[form][fn][why]++;
}

void count_start(void)
{
	starts++;
}

const char *count_name(enum function fn)
{
	return names[fn];
}

static uint64_t calls_of(enum form form, unsigned int fn)
{
	uint64_t sum = 0;
	unsigned int why;

	for (why = 0; why < NR_REASONS; why++)
		sum += counts[form][fn][why];
	return sum;
}

/* MPI_Bcast, MPI_Ibcast, MPI_Bcast_init */
static size_t name_of(enum form form, unsigned int fn, char *to, size_t room)
{
	static const char *const before[NR_FORMS] = { "", "I", "" };
	static const char *const behind[NR_FORMS] = { "", "", "_init" };
	int at = snprintf(to, room, "MPI_%s%s%s", before[form], names[fn], behind[form]);

	if (form == NONBLOCKING)
		to[strlen("MPI_I")] |= 'a' - 'A';
	return (size_t)at;
}

/* One write per line: ranks share stderr. */
static void print_call(int rank, enum form form, unsigned int fn)
{
	char line[512];
	unsigned int why;
	size_t at;

	at = (size_t)snprintf(line, sizeof(line), "coll_mpi: rank %d: ", rank);
	at += name_of(form, fn, line + at, sizeof(line) - at);
	at += (size_t)snprintf(line + at, sizeof(line) - at, ":");
	for (why = 0; why < NR_REASONS; why++)
		if (counts[form][fn][why] || why == TAKEN)
			at += (size_t)snprintf(line + at, sizeof(line) - at, "%s %s %llu",
					       why == TAKEN ? "" : ",", reasons[why],
					       (unsigned long long)counts[form][fn][why]);
	fprintf(stderr, "%s\n", line);
}

void count_print(int rank)
{
	unsigned int form, fn;
	uint32_t on;

	if (env_u32("COLL_MPI_STATS", 0, 1, &on) || !on)
		return;
	for (form = 0; form < NR_FORMS; form++)
		for (fn = 0; fn < NR_FUNCTIONS; fn++)
			if (calls_of(form, fn))
				print_call(rank, form, fn);
	if (starts)
		fprintf(stderr, "coll_mpi: rank %d: MPI_Start: taken %llu\n", rank,
			(unsigned long long)starts);
}
