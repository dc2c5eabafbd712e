// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The search for the best fusion, over programs that are made up: their time for a step is a
 * function of the setting, with noise.
 *
 * usage: test_tune [SEED]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tensor/tune.h"
#include "tap.h"

#define BYTES	100e6
static uint64_t state;

/* From 0 to 1 */
static double lot(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(state >> 33) / 2147483648.0;
}

/* Seconds of a step. */
typedef double program_fn(const struct tune_point *p);

/* @at: the threshold of the least time, in MiB; each factor of 4 away costs @cost of it. */
static double valley(const struct tune_point *p, double at, double cost)
{
	double mib = (double)p->threshold / (1 << 20), away;

	away = fabs(log2((mib + 0.01) / (at + 0.01))) / 2;
	return 0.010 * (1 + cost * away);
}

static double large(const struct tune_point *p)
{
	return valley(p, 64, 0.10);
}

static double small(const struct tune_point *p)
{
	return valley(p, 0.25, 0.15);
}

/* Fusion only harms. */
static double none(const struct tune_point *p)
{
	return p->threshold ? 0.030 : 0.010;
}

/* The program computes all the time: fusion does not matter. */
static double equal(const struct tune_point *p)
{
	(void)p;
	return 0.010;
}

/* Few tensors at a time are best. */
static double few(const struct tune_point *p)
{
	return valley(p, 4, 0.10) * (p->most == 32 ? 0.8 : 1);
}

/**
 * struct run - what came of a search
 * @first: time of the first setting
 * @worse: steps that took more than TUNE_WORSE times the best setting known then
 * @row: most of them in a row
 * @sets: how often the setting changed
 */
struct run {
	double first;
	uint32_t worse, row, sets;
};

/* Seconds of a step with up to @noise more, and now and then one that takes three times as long. */
static double noisy(double seconds, double noise)
{
	return seconds * (1 + noise * lot()) * (noise > 0 && lot() < 0.03 ? 3 : 1);
}

static struct run run(struct tune *t, program_fn *program, double noise, uint32_t steps)
{
	struct run r = { .first = program(&t->now) };
	uint32_t row = 0;
	double seconds;

	while (steps--) {
		seconds = program(&t->now);
		if (seconds > TUNE_WORSE * program(&t->best)) {
			r.worse++;
			row++;
		} else {
			row = 0;
		}
		if (row > r.row)
			r.row = row;
		r.sets += tune_step(t, noisy(seconds, noise), BYTES);
	}
	return r;
}

static struct tune begin(uint64_t limit)
{
	struct tune_point first = { 4 << 20, 256 };
	struct tune t;

	tune_init(&t, first, limit);
	return t;
}

/*
 * Two steps of three that take three times as long mislead a search, and this happens in about one
 * of 50. So what is asserted holds for most of 100 searches.
 */
#define SEARCHES	100
#define MOST_OF_THEM	90

static void test_finds(program_fn *program, uint64_t threshold, uint32_t most, const char *name)
{
	int k, found = 0, gentle = 0, kept = 0;
	char text[128];
	struct tune t;
	struct run r;

	for (k = 0; k < SEARCHES; k++) {
		t = begin(0);
		r = run(&t, program, 0.02, 200);
		found += t.phase == TUNE_WATCH && t.best.threshold == threshold &&
			(!most || t.best.most == most);
		gentle += r.row <= TUNE_BAD + 1;
		kept += program(&t.best) <= r.first;
	}
	snprintf(text, sizeof(text), "%s: %d of %d searches find the best setting", name, found,
		 SEARCHES);
	ok(found >= MOST_OF_THEM, text);
	snprintf(text, sizeof(text), "%s: at most 3 steps in a row are much worse, %d of %d searches",
		 name, gentle, SEARCHES);
	ok(gentle >= MOST_OF_THEM, text);
	snprintf(text, sizeof(text), "%s: %d of %d searches end no worse than they began", name, kept,
		 SEARCHES);
	ok(kept >= MOST_OF_THEM, text);
}

/* With any noise, the setting that a search keeps is not much worse than its first one. */
static void test_noise(void)
{
	double worst = 0, ratio;
	struct tune t;
	struct run r;
	int k;

	for (k = 0; k < 200; k++) {
		t = begin(0);
		r = run(&t, k % 2 ? large : equal, 0.3, 300);
		ratio = (k % 2 ? large : equal)(&t.best) / r.first;
		if (ratio > worst)
			worst = ratio;
	}
	ok(worst <= 1.15, "noise of 30 percent, 200 times: never a setting that is much worse");
}

static void test_equal(void)
{
	struct tune t = begin(0);
	struct run r = run(&t, equal, 0, 300);

	ok(t.phase == TUNE_WATCH && t.best.threshold == 4 << 20 && t.best.most == 256,
	   "where fusion does not matter, the setting stays");
	ok(r.sets && !run(&t, equal, 0, 1000).sets, "and is left alone after the search");
}

static void test_change(void)
{
	int k, first = 0, second = 0;
	struct tune t;

	for (k = 0; k < SEARCHES; k++) {
		t = begin(0);
		run(&t, large, 0.02, 300);
		first += t.best.threshold == 64 << 20;
		run(&t, small, 0.02, 400);
		second += t.phase == TUNE_WATCH && t.best.threshold == 256 << 10;
	}
	ok(first >= MOST_OF_THEM, "a program with large tensors");
	ok(second >= MOST_OF_THEM, "becomes one with small ones: the search begins again");
}

static void test_freeze(void)
{
	struct tune t = begin(150);
	struct tune_point kept;
	struct run r;

	run(&t, large, 0.02, 150);
	ok(t.phase == TUNE_FROZEN, "frozen after the number of steps that was asked for");
	kept = t.now;
	r = run(&t, small, 0.02, 500);
	ok(!r.sets && t.now.threshold == kept.threshold && t.now.most == kept.most,
	   "then nothing changes");
	t = begin(20);
	run(&t, none, 0, 19);
	ok(t.phase != TUNE_FROZEN, "not before");
	run(&t, none, 0, 1);
	ok(t.phase == TUNE_FROZEN && t.now.threshold == t.best.threshold,
	   "in the middle of a trial: with the best known one");
}

static void test_empty(void)
{
	struct tune t = begin(0);
	int k, sets = 0;

	for (k = 0; k < 1000; k++)
		sets += tune_step(&t, 1, 0);
	ok(!sets && !t.nr, "steps without bytes say nothing");
}

int main(int argc, char **argv)
{
	state = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	printf("# SEED=%llu\n", (unsigned long long)state);
	test_finds(large, 64 << 20, 0, "large");
	test_finds(small, 256 << 10, 0, "small");
	test_finds(none, 0, 0, "none");
	test_finds(few, 4 << 20, 32, "few");
	test_equal();
	test_noise();
	test_change();
	test_freeze();
	test_empty();
	return ok_done();
}
