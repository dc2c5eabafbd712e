// SPDX-License-Identifier: GPL-2.0
/*
 * usage: fuzz ioctl|uring|wire|netlink SECONDS
 *        fuzz KIND SEED,SEED,...
 *
 * Rounds of random input until the time is over, from COLL_TEST_SEED on; or one round again,
 * by the seeds that were printed. The last line counts them. The kernel's complaints are the
 * verdict of collvm; which round was running then is in the log of the kernel.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define CORPUS_MAX	1024
/* A round that takes longer hangs: nothing in it waits for more than a second. */
#define HANG_SECONDS	60

static const struct fuzz_kind *const kinds[] = {
	&fuzz_ioctl, &fuzz_uring, &fuzz_wire, &fuzz_netlink,
};

static struct fuzz_seeds corpus[CORPUS_MAX], now;
static unsigned int nr_corpus, bad;
bool fuzz_verbose;
static const struct fuzz_kind *kind;

static int print_seeds(char *text, size_t room)
{
	unsigned int i;
	int n = 0;

	for (i = 0; i < now.n; i++)
		n += snprintf(text + n, room - n, "%s%#llx", i ? "," : "",
			      (unsigned long long)now.seed[i]);
	return n;
}

void fuzz_complain(const char *format, ...)
{
	char text[512];
	va_list args;

	print_seeds(text, sizeof(text));
	printf("# fuzz %s %s: ", kind->name, text);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	bad++;
}

static void hang(int sig)
{
	fuzz_complain("hangs");
	_exit(2);
}

/* The log of the kernel says which round it was. */
static void note(unsigned long round)
{
	static FILE *log;
	char text[512];

	if (!log)
		log = fopen("/dev/kmsg", "w");
	if (!log)
		return;
	print_seeds(text, sizeof(text));
	fprintf(log, "<7>fuzz %s, round %lu: %s\n", kind->name, round, text);
	fflush(log);
}

/* New, or one that found something, changed once more. */
static void draw(uint64_t *lots)
{
	now.n = 0;
	if (nr_corpus && test_below(lots, 3)) {
		now = corpus[test_below(lots, nr_corpus)];
		if (now.n == FUZZ_SEEDS)
			now.n = 1 + test_below(lots, FUZZ_SEEDS - 1);
	}
	now.seed[now.n++] = test_rand(lots) | 1;
}

static void keep(uint64_t *lots)
{
	unsigned int i = nr_corpus < CORPUS_MAX ? nr_corpus++ : test_below(lots, CORPUS_MAX);

	corpus[i] = now;
}

static int again(const char *seeds)
{
	char *end;

	for (now.n = 0; now.n < FUZZ_SEEDS && *seeds; seeds = *end ? end + 1 : end)
		now.seed[now.n++] = strtoull(seeds, &end, 0);
	note(0);
	fuzz_verbose = true;
	kind->round(&now);
	printf("fuzz %s: one round, %u bad\n", kind->name, bad);
	return bad != 0;
}

static int rounds(unsigned int seconds)
{
	uint64_t lots = test_seed(), end = test_now_ns() + seconds * 1000000000ULL;
	unsigned long n, inputs = 0;
	bool kcov = kcov_start();

	for (n = 0; test_now_ns() < end && bad < 20; n++) {
		draw(&lots);
		if (n % 16 == 0)
			note(n);
		alarm(HANG_SECONDS);
		kcov_round();
		inputs += kind->round(&now);
		if (kcov_new())
			keep(&lots);
	}
	alarm(0);
	printf("fuzz %s: %lu rounds, %lu inputs, %u places of coll seen%s, %u bad\n", kind->name, n,
	       inputs, kcov_places(), kcov && kcov_places() ? "" : " (no KCOV)", bad);
	return bad || !n;
}

int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i]->name))
			kind = kinds[i];
	if (!kind) {
		fprintf(stderr, "usage: fuzz ioctl|uring|wire|netlink SECONDS|SEED,SEED,...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, hang);
	signal(SIGPIPE, SIG_IGN);
	i = kind->start();
	if (i) {
		printf("fuzz %s: cannot run here\n", kind->name);
		return 2;
	}
	return strncmp(argv[2], "0x", 2) ? rounds(atoi(argv[2])) : again(argv[2]);
}
