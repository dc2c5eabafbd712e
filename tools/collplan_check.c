// SPDX-License-Identifier: GPL-2.0
/*
 * collplan check: the checker over the full table, several algorithms at a time.
 *
 * n is 1 to 257, 1023 to 1025 and 4096. Up to n = 16 all roots are checked, then four, from 1023
 * on two. k-nomial algorithms are also checked with other radices. If the proof of a schedule
 * would take more than MEMORY, each participant is checked by itself (coll_check_shape()). That
 * happens at 4096, to algorithms with n^2 messages. The output says so.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collplan.h"
#include "pure/check/check.h"

#define MEMORY		(2400ULL << 20)
#define MAX_UNITS	1024

/* A job: one algorithm, sizes from and to. */
struct unit {
	const struct coll_algorithm *alg;
	u32 from;
	u32 to;
	u64 proofs;
	u64 shapes;
	u64 steps;
	double seconds;
	bool over;
	char error[200];
};

struct table {
	u32 next;	/* the first unit nobody has taken */
	u32 nr;
	struct unit unit[MAX_UNITS];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static bool prove(struct unit *u, struct coll_check *c)
{
	size_t size = coll_check_memory(c);
	bool shape = !size || size > MEMORY;
	void *mem;

	if (shape)
		size = coll_check_shape_memory(c);
	mem = need(malloc(size + 1));
	if (shape)
		coll_check_shape(c, mem, size);
	else
		coll_check(c, mem, size);
	free(mem);
	u->proofs += !shape;
	u->shapes += shape;
	u->steps += c->nr_steps;
	if (c->error)
		snprintf(u->error, sizeof(u->error),
			 "n %u root %u radix %u%s: %s (participant %d, step %d)", c->n, c->root,
			 c->radix, c->in_place ? " in place" : "", c->error,
			 (int)c->participant, (int)c->step);
	return !c->error;
}

static bool prove_root(struct unit *u, u32 n, u32 root)
{
	static const u32 radices[] = { 2, 3, 5, 8, 16 };
	struct coll_check c = { .alg = u->alg, .n = n, .root = root, .in_place = true };
	u32 i;

	if (!prove(u, &c))
		return false;
	/* in place is the harder case; the other one is checked, too */
	c.in_place = false;
	if (n <= 64 && !prove(u, &c))
		return false;
	c.wide = u->alg->collective == COLL_SCAN || u->alg->collective == COLL_EXSCAN;
	if (c.wide && !prove(u, &c))
		return false;
	c.wide = false;
	c.in_place = true;
	for (i = 0; i < 5 && u->alg->id == COLL_ALG_KNOMIAL && n <= 257; i++) {
		c.radix = radices[i];
		if (!prove(u, &c))
			return false;
	}
	return true;
}

/* All roots of small sizes; of large ones, odd places. */
static bool is_tried(u32 n, u32 root)
{
	if (n <= 16 || !root || root == n / 2)
		return true;
	return n <= 257 && (root == 1 || root == n - 1);
}

static void run_unit(struct unit *u)
{
	double start = now();
	u32 n, root;

	for (n = u->from; n <= u->to && !*u->error; n++) {
		for (root = 0; root < (is_rooted(u->alg->collective) ? n : 1); root++) {
			if (!is_tried(n, root))
				continue;
			if (!prove_root(u, n, root))
				break;
		}
	}
	u->seconds = now() - start;
	__atomic_store_n(&u->over, true, __ATOMIC_RELEASE);
}

static void worker(struct table *t)
{
	u32 i;

	while ((i = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED)) < t->nr)
		run_unit(&t->unit[i]);
}

/* Large sizes first: what takes longest should not be last. */
static void fill(struct table *t, const char *what, u32 max)
{
	static const u32 sizes[][2] = { { 4096, 4096 }, { 1023, 1025 }, { 1, 257 } };
	const struct coll_algorithm *a;
	u32 s, i;

	for (s = 0; s < 3; s++) {
		for (i = 0; (a = coll_algorithm_at(i)); i++) {
			if (what && strcmp(what, a->name) &&
			    strcmp(what, collective_name(a->collective)))
				continue;
			if (sizes[s][0] > max || t->nr == MAX_UNITS)
				continue;
			t->unit[t->nr++] = (struct unit){
				.alg = a, .from = sizes[s][0],
				.to = sizes[s][1] < max ? sizes[s][1] : max,
			};
		}
	}
	if (!t->nr)
		die("nothing to check: no such collective or algorithm");
}

static int report(const struct table *t, bool tap)
{
	u64 proofs = 0, shapes = 0, steps = 0;
	u32 i, failed = 0;
	char sizes[32];

	for (i = 0; i < t->nr; i++) {
		const struct unit *u = &t->unit[i];
		/* what proves nothing is a failure, too */
		bool ok = u->over && !*u->error && u->proofs + u->shapes;

		snprintf(sizes, sizeof(sizes), u->from == u->to ? "%u" : "%u..%u", u->from, u->to);
		if (tap)
			printf("%sok %u - ", ok ? "" : "not ", i + 1);
		printf("%s %s, n %s: %llu proved", collective_name(u->alg->collective),
		       u->alg->name, sizes, (unsigned long long)u->proofs);
		if (u->shapes)
			printf(", %llu checked for shape only (too many steps: no values, races)",
			       (unsigned long long)u->shapes);
		printf(", %.1f s%s\n", u->seconds, tap || ok ? "" : ", FAILED");
		if (!ok)
			printf("# %s\n", u->over ? u->error : "the process died");
		failed += !ok;
		proofs += u->proofs;
		shapes += u->shapes;
		steps += u->steps;
	}
	printf("%s%llu schedules proved, %llu more checked for shape only, %llu steps\n",
	       tap ? "# " : "", (unsigned long long)proofs, (unsigned long long)shapes,
	       (unsigned long long)steps);
	if (tap)
		printf("1..%u\n", t->nr);
	return failed ? 1 : 0;
}

int cmd_check(int argc, char **argv)
{
	u32 max = 4096, jobs = sysconf(_SC_NPROCESSORS_ONLN), i;
	const char *what = NULL;
	struct table *t;
	bool tap = false;

	for (; argc; argc--, argv++) {
		if (!strcmp(*argv, "--tap"))
			tap = true;
		else if (!strcmp(*argv, "--max") && argc-- > 1)
			max = parse_bytes(*++argv);
		else if (!strcmp(*argv, "--jobs") && argc-- > 1)
			jobs = parse_bytes(*++argv);
		else if (**argv != '-' && !what && argc)
			what = *argv;
		else
			die("check: unknown argument, or one without its value");
	}
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		die("out of memory");
	fill(t, what, max);
	/* memory, and two are as many as a small machine has */
	jobs = jobs > 2 ? 2 : jobs;
	fflush(stdout);
	for (i = 1; i < jobs; i++) {
		if (!fork()) {
			worker(t);
			_exit(0);
		}
	}
	worker(t);
	while (wait(NULL) > 0)
		;
	return report(t, tap);
}
