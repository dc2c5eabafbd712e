/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Variables of the environment about algorithms, and the names of algorithms. */
#ifndef LIBCOLL_SELECT_ENV_H
#define LIBCOLL_SELECT_ENV_H

#include "select_tables.h"

/**
 * struct select_plan - what rank 0's environment asks for
 * @budget_ms: to be spent on measuring algorithms, beyond finding out what a transfer
 *	costs; negative: measure nothing at all
 * @all: time all collectives; else the two that most programs use
 * @file: where tables are, else NULL; of the environment
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
 * The number of an algorithm, as in a command, by its name, as "ring" or "knomial:8"; 0:
 * none, or not for this collective. And back: "auto" for 0, "?" for one there is not.
 */
uint16_t select_number(uint32_t collective, const char *name);
const char *select_name(uint32_t collective, uint16_t number, char buf[SELECT_NAME]);
/* Can @a run @collective at all? As the kernel decides; the operator may say no. */
bool select_fits(uint32_t collective, const struct coll_algorithm *a);
int select_env(struct select_plan *plan);
int select_host_of(const char *node, struct select_host *host);
/* By its name, as select_host_of() makes it: the host's, and ":" and COLL_NODE, if set. */
int select_host_named(const char *name, struct select_host *host);

#endif
