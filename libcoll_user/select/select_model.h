/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The cost of an algorithm, from its schedule and a few measured numbers. */
#ifndef LIBCOLL_SELECT_MODEL_H
#define LIBCOLL_SELECT_MODEL_H

#include "schedule.h"

/* The executor passes bytes on when it has this many, unless the segment is smaller. */
#define SELECT_GRAIN	65536

/**
 * struct select_model - what transfers cost, in seconds
 * @alpha: from the start of a send until its first byte is there
 * @overhead: time for which a message occupies its sender, and its receiver
 * @beta: a byte leaving a participant, or coming in
 * @gamma: a byte folded
 * @busy_message: a message, when all participants are busy: what they have in common
 *	(processors of one host, a switch) gets all messages done in no less than
 *	this times their number
 * @busy_byte: the same of a byte. If there is such a thing, what is folded adds to it.
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
 * select_cost() - seconds an algorithm takes, root 0
 * @a: algorithm
 * @n: participants
 * @bytes: of the vector; of collectives that have blocks, of one of these
 * @segment: bytes of the pipelining unit; 0: the executor's
 *
 * Few participants are simulated message by message, for many the busiest of a sample
 * has to do. Return: negative if there is no memory.
 */
double select_cost(const struct select_model *m, const struct coll_algorithm *a, u32 n,
		   u64 bytes, u32 segment);

#endif
