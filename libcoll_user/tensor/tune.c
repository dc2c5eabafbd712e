// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdlib.h>
#include <string.h>

#include "tune.h"

static const uint64_t thresholds[] = {
	0, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20,
};
static const uint32_t mosts[] = { 8, 32, 128, 256 };

#define COUNT(a)	((uint32_t)(sizeof(a) / sizeof(*(a))))
#define CANDIDATES	(COUNT(thresholds) + COUNT(mosts))

static bool same(struct tune_point a, struct tune_point b)
{
	/* Without fusion there is no number of tensors either. */
	return a.threshold == b.threshold && (a.most == b.most || !a.threshold);
}

/* Candidate @k: the best known setting, with another value of one number. */
static struct tune_point candidate(const struct tune *t, uint32_t k)
{
	struct tune_point p = t->best;

	if (k < COUNT(thresholds))
		p.threshold = thresholds[k];
	else
		p.most = mosts[k - COUNT(thresholds)];
	return p;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct tune *t)
{
	double sorted[TUNE_LOOK];

	memcpy(sorted, t->samples, t->nr * sizeof(*sorted));
	qsort(sorted, t->nr, sizeof(*sorted), ascending);
	return sorted[t->nr / 2];
}

/* Measure the next steps for @phase, with setting @p. */
static void enter(struct tune *t, enum tune_phase phase, struct tune_point p)
{
	t->settle = !same(t->now, p);
	t->phase = phase;
	t->now = p;
	t->nr = 0;
	t->bad = 0;
}

/* The best one has been measured: try the next candidate, or watch. */
static void try_next(struct tune *t)
{
	while (t->candidate < CANDIDATES && same(candidate(t, t->candidate), t->best))
		t->candidate++;
	if (t->candidate < CANDIDATES)
		enter(t, TUNE_TRIAL, candidate(t, t->candidate++));
	else
		enter(t, TUNE_WATCH, t->best);
	t->changed = 0;
}

static void base_step(struct tune *t)
{
	if (t->nr < TUNE_SAMPLES)
		return;
	t->base = median(t);
	try_next(t);
}

static void trial_step(struct tune *t, double score)
{
	t->bad += score > TUNE_WORSE * t->base;
	if (t->bad < TUNE_BAD && t->nr < TUNE_SAMPLES)
		return;
	if (t->bad < TUNE_BAD && median(t) < TUNE_BETTER * t->base)
		t->best = t->now;
	enter(t, TUNE_BASE, t->best);
}

static void watch_step(struct tune *t)
{
	double now;

	if (t->nr < TUNE_LOOK)
		return;
	now = median(t);
	t->nr = 0;
	if (now < (1 + TUNE_CHANGED) * t->base && now > (1 - TUNE_CHANGED) * t->base) {
		t->changed = 0;
		return;
	}
	if (++t->changed < 2)
		return;
	t->candidate = 0;
	enter(t, TUNE_BASE, t->best);
}

void tune_init(struct tune *t, struct tune_point first, uint64_t limit)
{
	*t = (struct tune){ .now = first, .best = first, .limit = limit };
	enter(t, TUNE_BASE, first);
	/* The first step makes names and pins memory. */
	t->settle = true;
}

bool tune_step(struct tune *t, double seconds, double bytes)
{
	struct tune_point before = t->now;

	t->steps++;
	if (t->phase == TUNE_FROZEN || bytes <= 0)
		return false;
	if (t->limit && t->steps >= t->limit) {
		enter(t, TUNE_FROZEN, t->best);
		return !same(before, t->now);
	}
	if (t->settle) {
		t->settle = false;
		return false;
	}
	t->samples[t->nr++] = seconds / bytes;
	if (t->phase == TUNE_BASE)
		base_step(t);
	else if (t->phase == TUNE_TRIAL)
		trial_step(t, seconds / bytes);
	else
		watch_step(t);
	return !same(before, t->now);
}

const char *tune_phase_name(enum tune_phase phase)
{
	static const char *const names[] = {
		[TUNE_BASE] = "base",
		[TUNE_TRIAL] = "trial",
		[TUNE_WATCH] = "watch",
		[TUNE_FROZEN] = "frozen",
	};

	return names[phase];
}
