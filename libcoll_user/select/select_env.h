/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Variables of the environment about algorithms, and the names of algorithms. */
#ifndef LIBCOLL_SELECT_ENV_H
#define LIBCOLL_SELECT_ENV_H

#include "select_tables.h"

/**
 * struct select_plan - settings from the environment of rank 0
 * @budget_ms: time for measuring algorithms, after the costs of a transfer have been measured;
 *	negative: measure nothing at all
 * @all: time all collectives; else the two that most programs use
 * @file: name of a file of tables, in the memory of the environment; NULL: none
 * @fixed: algorithm by collective; 0: free
 */
struct select_plan {
	int32_t budget_ms;
	bool all;
	const char *file;
	uint16_t fixed[COLL_NR_COLLECTIVES];
};

#define SELECT_NAME	32

/*
 * select_number() converts the name of an algorithm, for example "ring" or "knomial:8", to its
 * number in a command; 0: unknown, or not for this collective. select_name() converts the number to
 * the name: "auto" for 0, "?" for an unknown number.
 */
uint16_t select_number(uint32_t collective, const char *name);
const char *select_name(uint32_t collective, uint16_t number, char buf[SELECT_NAME]);
/* Can @a run @collective with any operator? The same decision as in the kernel. */
bool select_fits(uint32_t collective, const struct coll_algorithm *a);
int select_env(struct select_plan *plan);
int select_host_of(const char *node, struct select_host *host);
/* The entry for a name of select_host_of(): host name, and ":" and COLL_NODE if that is set. */
int select_host_named(const char *name, struct select_host *host);

#endif
