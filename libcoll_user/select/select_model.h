/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The cost of an algorithm, from its schedule and a few measured numbers. */
#ifndef LIBCOLL_SELECT_MODEL_H
#define LIBCOLL_SELECT_MODEL_H

#include "schedule.h"

/* The executor forwards bytes when it has this many, or a segment if that is smaller. */
#define SELECT_GRAIN	65536

/**
 * struct select_model - the costs of transfers, in seconds
 * @alpha: from the start of a send until its first byte is there
 * @overhead: time for which a message occupies its sender, and its receiver
 * @beta: time of a byte that a participant sends or receives
 * @gamma: time to fold a byte
 * @busy_message: time of a message when all participants are busy. If they share the processors of
 *	one host, or a switch, each message of any of them takes at least this time there.
 * @busy_byte: the same for a byte; 0: participants share nothing. Otherwise the time to fold all
 *	bytes is added.
 */
struct select_model {
	double alpha;
	double overhead;
	double beta;
	double gamma;
	double busy_message;
	double busy_byte;
};

/**
 * select_cost() - estimate of the seconds that an algorithm takes, with root 0
 * @a: algorithm
 * @n: participants
 * @bytes: of the vector; for collectives with blocks, of one block
 * @segment: bytes of the pipelining unit; 0: that of the executor
 *
 * Few participants are simulated message by message. For many, the estimate uses only the busiest
 * of a sample. Return: negative if there is no memory.
 */
double select_cost(const struct select_model *m, const struct coll_algorithm *a, u32 n,
		   u64 bytes, u32 segment);

#endif
