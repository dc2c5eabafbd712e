/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Searches for the setting of fusion that makes the steps of a program shortest, in real steps.
 *
 * A step is one round of a program's tensors. The search tries one setting at a time: a few steps
 * with the best known one, then as many with the candidate. It looks at the thresholds first, then
 * at the number of tensors. After the last candidate it watches, and begins again if the steps
 * change for long.
 */
#ifndef LIBCOLL_TENSOR_TUNE_H
#define LIBCOLL_TENSOR_TUNE_H

#include <stdbool.h>
#include <stdint.h>

/* Steps of one measurement; its value is their median. */
#define TUNE_SAMPLES	5
/* A candidate is given up at this number of steps that take TUNE_WORSE times the best one. */
#define TUNE_BAD	2
#define TUNE_WORSE	1.2
/* A candidate is the new best one if it takes this part of the old one's time, or less. */
#define TUNE_BETTER	0.97
/* Steps of one look after the search. Two looks in a row that differ by this part restart it. */
#define TUNE_LOOK	20
#define TUNE_CHANGED	0.25

/**
 * struct tune_point - a setting of struct coll_tensor_fuse
 * @threshold: bytes of a fusion at most; 0: nothing is fused
 * @most: tensors of a fusion at most
 */
struct tune_point {
	uint64_t threshold;
	uint32_t most;
};

enum tune_phase {
	TUNE_BASE,	/* measure the best known setting */
	TUNE_TRIAL,	/* measure a candidate */
	TUNE_WATCH,	/* all have been tried */
	TUNE_FROZEN,	/* the best one stays */
};

/**
 * struct tune - a search
 * @phase: what the next step is measured for
 * @now: setting of the next step
 * @best: best known one
 * @candidate: index of the next one to try
 * @settle: the next step does not count: it is the first one of a setting
 * @base: seconds for a byte with @best, by its last measurement
 * @samples: of the measurement under way
 * @nr: number of these
 * @bad: how many of them were much worse than @base
 * @changed: looks in a row that differ from @base
 * @steps: all that have been seen
 * @limit: frozen after so many; 0: never
 */
struct tune {
	enum tune_phase phase;
	struct tune_point now, best;
	uint32_t candidate;
	bool settle;
	double base;
	double samples[TUNE_LOOK];
	uint32_t nr, bad, changed;
	uint64_t steps, limit;
};

/**
 * tune_init() - begin
 * @first: the setting that holds
 * @limit: freeze after so many steps; 0: never
 */
void tune_init(struct tune *t, struct tune_point first, uint64_t limit);

/**
 * tune_step() - a step has been made with ->now
 * @seconds: its time
 * @bytes: of its tensors; a step without bytes is ignored
 *
 * Return: true: ->now has changed, and the caller has to set it.
 */
bool tune_step(struct tune *t, double seconds, double bytes);

/* Name of a phase, for the log. */
const char *tune_phase_name(enum tune_phase phase);

#endif
