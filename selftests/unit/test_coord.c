// SPDX-License-Identifier: GPL-2.0
/*
 * The coordinator, checked as a model: of small scenes every interleaving of what ranks,
 * nodes and channels do; of large ones random ones. Then each rule of the protocol is
 * dropped, and the same checks must find a fault.
 *
 * COLL_SCENE=name plays one scene only, and says what went wrong.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coord_world.h"
#include "pure/coord/coord.h"
#include "pure/coord/coord_order.h"
#include "pure/coord/coord_params.h"
#include "pure/coord/coord_priv.h"
#include "pure/coord/coord_table.h"
#include "pure/coord/coord_talk.h"
#include "pure/coord/coord_wire.h"
#include "tap.h"

static const struct scene scenes[] = {
	{ "one node", "", "2", { "a b a", "b a a" }, true },
	{ "one node, one rank", "", "1", { "a b g . a" }, true },
	{ "two nodes", "0", "1 1", { "a b a", "b a a" }, true },
	{ "three ranks on two nodes", "0", "2 1", { "a b", "b a", "a b" }, true },
	{ "a star of three", "0 0", "1 1 1", { "a b", "b a", "b a" }, true },
	{ "a chain of three", "0 1", "1 1 1", { "a b", "b a", "a b" }, true },
	{ "twice in a chain", "0 1", "1 1 1", { "a a", "a a", "a a" }, true },
	{ "pending twice", "0", "1 1", { "a a= b", "b a" }, true },
	{ "a group", "0 0", "1 1 1", { "(ab)", "(ba)", "(ab)" }, true },
	{ "a bad member of a group", "0", "1 1", { "(ab)", "(ab')" }, false },
	{ "a bad member below", "0 0", "1 1 1", { "(ab)", "(b'a)", "(ab)" }, false },
	{ "three names in a star", "0 0", "1 1 1", { "a b c", "b c a", "c a b" }, true },
	{ "two rounds in a chain", "0 1", "1 1 1", { "a b a b", "b a b a", "a b b a" }, true },
	{ "a group, and others", "0", "1 1", { "(ab) c", "c (ab)" }, true },
	{ "mismatch", "0", "1 1", { "a b a", "a' b a" }, false },
	{ "mismatch below", "0 1", "1 1 1", { "a b", "b a'", "a b" }, false },
	{ "mismatch on a node", "0", "1 2", { "a a", "a' a", "a a" }, false },
	{ "mismatch of something known", "0", "1 1", { "a a", "a a'" }, false },
	{ "a deadline", "0", "1 1", { "a! b a", "b a a" }, false },
	{ "deadlines", "0", "1 1", { "a! a!", "a! a!" }, false },
	{ "a deadline in a chain", "0 1", "1 1 1", { "a a", "a a", "a! a" }, false },
	{ "a deadline in a star", "0 0", "1 1 1", { "a! a", "a a", "a a!" }, false },
	{ "a deadline of a group", "0", "1 1", { "(ab)! . (ab)", "(ab) (ab)" }, false },
	{ "a deadline of an unlike group", "0", "1 1", { "(ag)!", "(ga)" }, false },
	{ "a group of three", "0", "1 1", { "(abg)", "(gab)" }, true },
	{ "a deadline of three", "0", "1 1", { "(abg)!", "(gab)" }, false },
	{ "a deadline of three that are fused", "0", "1 1", { "(abc)", "(cab)!" }, false },
	{ "a deadline of three, all at a time", "0", "1 1", { "(abg)!", "(gab)" }, false, 0, 3 },
	{ "three of which one is refused", "0", "1 1", { "(abc~) (abc)", "(cab) (abc)" }, .starts = 1 },
	{ "three that differ", "0", "1 1", { "(abc)", "(bac')" }, false },
	{ "three of a group, and a join", "0", "1 1", { "(abc) +", "(abc~) +" }, false },
	{ "room for one and a deadline of a group", "0", "1 1", { "(ag)!", "(ga)" }, false, 1 },
	{ "a refused group, again", "0", "1 1", { "(ab~) (ab)", "(ba) (ab)" }, .starts = 1 },
	{ "the first member refused", "0", "1 1", { "(a~b) (ab)", "(ab) (ba)" }, .starts = 1 },
	{ "refused below", "0 1", "1 1 1", { "(ab) (ab)", "(ab) (ba)", "(b~a) (ab)" }, .starts = 1 },
	{ "refused in a star", "0 0", "1 1 1", { "(ab) (ab)", "(ab~) (ab)", "(ba) (ab)" }, .starts = 1 },
	{ "refused on a node", "0", "2 1", { "(ab~) (ab)", "(ab) (ab)", "(ab) (ab)" }, .starts = 1 },
	{ "refused by two", "0", "1 1", { "(ab~) (ab)", "(ba~) (ab)" }, .starts = 1 },
	{ "refused twice", "0", "1 1", { "(ab~) (a~b) (ab)", "(ab) (ab) (ab)" }, .starts = 1 },
	{ "different groups", "0", "1 1", { "(ab) c", "(ac) . b" }, false },
	{ "different groups below", "0 0", "1 1 1", { "(ab)", "(ab)", "(ad)" }, false },
	{ "a bad member", "0", "1 1", { "(ab)", "a' (bc)" }, false },
	{ "join", "0", "1 1", { "a + b", "+ b" }, false },
	{ "join with more to come", "0", "1 1", { "a b + a", "b + a" }, false },
	{ "join in a chain", "0 1", "1 1 1", { "+", "a +", "b +" }, false },
	{ "join in a star", "0 0", "1 1 1", { "a +", "+", "a +" }, false },
	{ "join on a node", "0", "2 1", { "a + b", "+ b", "a + b" }, false },
	{ "join makes two ready", "0", "1 1", { "a b . +", "+" }, false, 0, 2 },
	{ "join makes one after the other ready", "0", "1 1", { "a b . +", "+" }, false },
	{ "two at a time, one node", "", "1", { "(ab) g . (ab)" }, true },
	{ "two at a time", "0", "1 1", { "(ab) . (ba)", "(ba) . (ab)" }, true },
	{ "unlike ones at a time", "0", "1 1", { "(ag)", "(ga)" }, true },
	{ "room for one, one node", "", "2", { "a b g", "g b a" }, true, 1 },
	{ "room for one", "0", "1 1", { "a b a", "b a a" }, true, 1 },
	{ "room for one, a deadline", "0", "1 1", { "a! b", "b a" }, false, 1 },
	{ "room for one, join", "0", "1 1", { "a b + a", "b + a" }, false, 1 },
	{ "room for two in a chain", "0 1", "1 1 1", { "a b g", "g b a", "b g a" }, true, 2 },
	{ "room for one and groups", "0", "1 1", { "(ab) g", "g (ba)" }, true, 1 },
	{ "again, the other has joined", "0", "1 1", { "a a +", "+" }, true, .starts = 2 },
	{ "again, two of a chain have joined", "0 1", "1 1 1", { "a a +", "+", "+" }, true, .starts = 2 },
	{ "again, the last of a chain has joined", "0 1", "1 1 1", { "a a +", "a a +", "+" },
	  true, .starts = 2 },
	{ "again, all but one join meanwhile", "0 1", "1 1 1", { "a a +", "a +", "a +" }, true },
	{ "again, three of a chain have joined", "0 1 2", "1 1 1 1", { "a a +", "+", "+", "+" },
	  true, .starts = 2 },
	{ "again, two of a star have joined", "0 0", "1 1 1", { "a b a +", "+", "+" }, true },
	{ "a deadline, again, the other has joined", "0", "1 1", { "a! a a! +", "+" }, false },
	{ "a deadline, again, two of a chain have joined", "0 1", "1 1 1", { "a! a! +", "+", "+" },
	  false },
	{ "the first join after many orders", "0", "1 1", { "a a + a", "+ a" }, false,
	  .orders = (1ULL << 32) + 100 },
	{ "the same in a chain", "0 1", "1 1 1", { "a a +", "+", "+" }, true, .starts = 2,
	  .orders = (5ULL << 32) - 1 },
	{ "join twice", "0", "1 1", { "+ a + a", "a + + a" }, false },
	{ "join and a group", "0", "1 1", { "(ab) +", "(ab) +" }, false },
	{ "join and a part of a group", "0", "1 1", { "(abc_) + c", "(abc_) + c" }, false },
	{ "join and what needs all", "0", "1 1", { "g a + a", "+ a" }, false },
	{ "join and a deadline", "0", "1 1", { "a! + a", "+ a" }, false },
	{ "a rank leaves", "0", "1 1", { "a b .", "a -" }, false },
	{ "a rank leaves a chain", "0 1", "1 1 1", { "a b", "a b", "a -" }, false },
	{ "ranks leave", "0 0", "1 1 1", { "a -", "b -", "a b" }, false },
	{ "a rank leaves, another joins", "0", "1 1", { "a +", "a -" }, false },
	{ "deadlines everywhere", "0 1", "1 1 1", { "a! b a!", "b a! a", "a! a! b" }, false },
	{ "deadlines of groups", "0", "1 1", { "(ab)! a!", "a! (ab)" }, false },
	{ "a deadline, and one that joins", "0 0", "1 1 1", { "a! + a", "+ a", "a! + a" }, false },
};

/* --- all interleavings -------------------------------------------------------------- */

/* States that have been seen: an open-addressed set of hashes. */
static struct {
	uint64_t (*seen)[2];
	size_t room, nr;
} set;

static void set_grow(void)
{
	uint64_t (*old)[2] = set.seen;
	size_t i, k, room = set.room;

	set.room = room ? 2 * room : 1 << 12;
	set.seen = calloc(set.room, sizeof(*set.seen));
	if (!set.seen)
		exit(2);
	for (k = 0; k < room; k++) {
		if (!(old[k][0] | old[k][1]))
			continue;
		for (i = old[k][0] & (set.room - 1); set.seen[i][0] | set.seen[i][1]; )
			i = (i + 1) & (set.room - 1);
		set.seen[i][0] = old[k][0];
		set.seen[i][1] = old[k][1];
	}
	free(old);
}

static bool set_add(const uint64_t *h)
{
	size_t i;

	if (set.nr >= set.room / 2)
		set_grow();

	for (i = h[0] & (set.room - 1); set.seen[i][0] | set.seen[i][1];
	     i = (i + 1) & (set.room - 1))
		if (set.seen[i][0] == h[0] && set.seen[i][1] == h[1])
			return false;
	set.seen[i][0] = h[0];
	set.seen[i][1] = h[1];
	set.nr++;
	return true;
}

static void set_clear(void)
{
	free(set.seen);
	memset(&set, 0, sizeof(set));
}

/* The most steps of a scene from its beginning to an end, and bytes of its world. */
#define MOST_STEPS	256
#define MOST_BYTES	(256 << 10)

static unsigned long steps;
/* Steps that have led to a state, to be printed. */
static unsigned char path[MOST_STEPS];
static unsigned int path_len;

static void explore(unsigned int depth)
{
	static void *saved[MOST_STEPS];
	bool any = false;
	uint64_t h[2];
	int done;
	uint32_t n;

	if (depth == MOST_STEPS)
		exit(2);
	if (!saved[depth])
		saved[depth] = malloc(MOST_BYTES);
	if (!saved[depth] || world_bytes() > MOST_BYTES)
		exit(2);
	world_save(saved[depth]);
	for (n = 0; !world_fault; n++) {
		done = world_step(n);
		if (done < 0)
			break;
		if (!done)
			continue;
		any = true;
		steps++;
		path[depth] = (unsigned char)n;
		world_hash(h);
		if (!world_fault && set_add(h))
			explore(depth + 1);
		if (world_fault) {
			path_len = path_len ?: depth + 1;
			break;
		}
		world_load(saved[depth]);
	}
	if (!any && !world_fault)
		world_check_end();
}

/* Return: no fault. */
static bool play(const struct scene *s)
{
	set_clear();
	world_start(s);
	explore(0);
	return !world_fault;
}

/* --- random ones ----------------------------------------------------------------------- */

/* Take steps until none is possible: each time the first possible one from a random one on. */
static void wander(uint64_t *seed)
{
	uint32_t n, nr = 0, idle = 0;

	while (world_step(nr) >= 0)
		nr++;
	while (!world_fault && idle < nr) {
		n = (uint32_t)(tap_random(seed) >> 33) % nr;
		for (idle = 0; idle < nr && world_step(n) <= 0; idle++)
			n = (n + 1) % nr;
	}
	if (!world_fault)
		world_check_end();
}

static const struct shape {
	uint32_t nodes, per_node, fanout;
} shapes[] = {
	{ 2, 2, 2 }, { 3, 1, 1 }, { 4, 2, 2 }, { 7, 1, 2 }, { 16, 1, 4 }, { 33, 1, 8 },
	{ 64, 1, 8 }, { 64, 2, 3 },
};

static bool wander_shapes(uint64_t seed, unsigned int rounds, bool loud)
{
	unsigned int i, k;

	for (i = 0; i < rounds; i++) {
		for (k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
			const struct shape *s = &shapes[k];
			uint64_t now = seed;

			world_start_random(s->nodes, s->per_node, s->fanout, &seed);
			wander(&seed);
			if (!world_fault)
				continue;
			if (loud) {
				printf("# %u nodes, seed 0x%llx: %s\n", s->nodes,
				       (unsigned long long)now, world_fault);
				world_print();
			}
			return false;
		}
	}
	return true;
}

/* --- rules ------------------------------------------------------------------------------ */

/* Return: the scene that finds a fault, by its number plus 1; 0: none does. */
static int find_fault(void)
{
	size_t k;

	for (k = 0; k < sizeof(scenes) / sizeof(scenes[0]); k++)
		if (!play(&scenes[k]))
			return (int)k + 1;
	return 0;
}

/* Exit status of scene 0, so that it is not taken for that of a sanitizer. */
#define STATUS_SCENE	64

/* In a process of its own: what is broken may also crash, or run forever. */
static void drop_rule(int rule)
{
	int status, found;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		coll_rule_dropped = rule;
		alarm(120);
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		found = find_fault();
		_exit(found ? STATUS_SCENE + found - 1 : 0);
	}
	waitpid(pid, &status, 0);
	found = WIFEXITED(status) ? WEXITSTATUS(status) - STATUS_SCENE : -1;
	tap_ok(status, "rule %d dropped: %s", rule, !status ? "nobody notices" :
	       found < 0 || found >= (int)(sizeof(scenes) / sizeof(scenes[0])) ? "it crashes" :
	       scenes[found].name);
}

/* --- by hand ---------------------------------------------------------------------------- */

#define MANY	2000

/* A node alone with one rank, and what it starts. */
static struct {
	struct coll_coord c;
	struct coll_coord_entry *names[64], *ids[64];
	struct coll_chain groups[256];
	uint64_t joined[1];
	uint32_t local[1];
	char order[MANY][8];
	bool last[MANY];
	unsigned int nr, nr_bad;
	struct coll_coord_bad bad;
	const char *fits;	/* names that may be in a fusion; NULL: all */
	uint64_t fits_bytes;	/* 0: as many as c.threshold */
	unsigned int flying;	/* ops, and bytes of each */
	uint64_t bytes[MANY + 1];
} lone;

static void lone_start(struct coll_coord *c, struct coll_coord_entry *e, uint32_t contributors,
		       bool last)
{
	snprintf(lone.order[lone.nr], sizeof(lone.order[0]), "%.*s", (int)e->name_len,
		 (const char *)e->name);
	lone.last[lone.nr++] = last;
	lone.bytes[lone.flying] += coll_coord_bytes(&e->known);
	if (last && lone.flying < MANY)
		lone.bytes[++lone.flying] = 0;
}

static void lone_end(struct coll_coord *c, struct coll_coord_entry *e,
		     const struct coll_coord_bad *bad)
{
	lone.bad = *bad;
	lone.nr_bad++;
}

static void lone_rank(struct coll_coord *c, uint32_t rank)
{
}

static bool lone_fits(struct coll_coord *c, const struct coll_coord_entry *first,
		      const struct coll_coord_entry *e)
{
	return !lone.fits || (strchr(lone.fits, first->name[0]) && strchr(lone.fits, e->name[0]));
}

static uint64_t lone_fits_bytes(struct coll_coord *c, const struct coll_coord_entry *first)
{
	return lone.fits_bytes ? lone.fits_bytes : c->threshold;
}

static const struct coll_coord_ops lone_ops = {
	.hash = name_hash,
	.start = lone_start, .end = lone_end, .joined = lone_rank, .left = lone_rank,
	.fits = lone_fits, .fits_bytes = lone_fits_bytes,
};

static void lone_begin(uint64_t threshold)
{
	memset(&lone, 0, sizeof(lone));
	lone.c.ops = &lone_ops;
	lone.c.names = lone.names;
	lone.c.ids = lone.ids;
	lone.c.nr_buckets = 64;
	lone.c.groups = lone.groups;
	lone.c.nr_groups = 256;
	lone.c.max_names = MANY;
	lone.c.nr_local = 1;
	lone.c.local = lone.local;
	lone.c.joined = lone.joined;
	lone.c.is_root = true;
	lone.c.threshold = threshold;
	coll_coord_init(&lone.c);
}

static void lone_finish(void)
{
	struct coll_coord_entry *e;

	while ((e = coll_coord_take(&lone.c)))
		free(e);
}

static struct coll_coord_params tensor(uint64_t elements)
{
	struct coll_coord_params p = { };

	p.field[COLL_FIELD_DTYPE] = COLL_F32;
	p.field[COLL_FIELD_COLLECTIVE] = COLL_ALLREDUCE;
	p.field[COLL_FIELD_NDIM] = 1;
	p.field[COLL_FIELD_DIM0] = elements;
	return p;
}

static int lone_post(const char *name, uint32_t len, const struct coll_coord_params *p)
{
	struct coll_coord_entry *spare = calloc(1, coll_coord_entry_bytes(1)), *e;
	int ret = coll_coord_post(&lone.c, 0, name, len, p, &spare, &e);

	free(spare);
	return ret;
}

static int lone_put(const char *name, struct coll_coord_params p)
{
	return lone_post(name, (uint32_t)strlen(name), &p);
}

static void lone_give_up(const char *name)
{
	struct coll_coord_entry *none = NULL, *e;

	if (!coll_coord_find(&lone.c, name, (uint32_t)strlen(name), &none, &e))
		coll_coord_give_up(&lone.c, e, 0, COLL_BAD_TIMEOUT);
}

/* The names that were started, with a bar behind each fusion. */
static const char *lone_order(void)
{
	static char text[256];
	unsigned int i, n = 0;

	text[0] = 0;
	for (i = 0; i < lone.nr; i++)
		n += (unsigned int)snprintf(text + n, sizeof(text) - n, "%s%s", lone.order[i],
					    lone.last[i] ? "|" : "");
	lone.nr = 0;
	return text;
}

static void want_order(const char *want, const char *name)
{
	const char *got = lone_order();

	if (!tap_ok(!strcmp(got, want), "%s: %s", name, want))
		printf("# got %s\n", got);
}

static void test_fusion(void)
{
	struct coll_coord_params p;

	lone_begin(100);
	lone_put("a", tensor(10));
	lone_put("b", tensor(100));
	lone_put("c", tensor(15));
	lone_put("d", tensor(1));
	coll_coord_run(&lone.c);
	want_order("ac|b|d|", "up to the threshold, past what does not fit");
	p = tensor(2);
	p.field[COLL_FIELD_DTYPE] = COLL_I32;
	lone_put("a", tensor(2));
	lone_put("e", p);
	lone_put("b", tensor(2));
	p.field[COLL_FIELD_COLLECTIVE] = COLL_BROADCAST;
	lone_put("f", p);
	lone_put("g", p);
	coll_coord_run(&lone.c);
	want_order("ab|e|f|g|", "only what is alike");
	lone.c.threshold = 0;
	lone_put("a", tensor(2));
	lone_put("b", tensor(2));
	coll_coord_run(&lone.c);
	want_order("a|b|", "no threshold, no fusion");
	lone.c.threshold = 100;
	lone.c.most = 2;
	lone_put("a", tensor(2));
	lone_put("b", tensor(2));
	lone_put("c", tensor(2));
	coll_coord_run(&lone.c);
	want_order("ab|c|", "no more than so many");
	lone.c.most = 0;
	lone.c.ahead = 1;
	lone_put("a", tensor(2));
	lone_put("e", p);
	lone_put("b", tensor(2));
	coll_coord_run(&lone.c);
	want_order("a|e|b|", "and passes over no more than so many");
	lone.c.ahead = 0;
	p = tensor(2);
	p.field[COLL_FIELD_OP] = COLL_OP_PREMULSUM;
	lone_put("a", p);
	lone_put("b", p);
	coll_coord_run(&lone.c);
	want_order("a|b|", "none with factors of their own");
	lone.fits = "ac";
	lone_put("a", tensor(2));
	lone_put("b", tensor(2));
	lone_put("c", tensor(2));
	coll_coord_run(&lone.c);
	want_order("ac|b|", "none that the caller does not want");
	lone.fits = NULL;
	lone.fits_bytes = 2 * coll_coord_bytes(&p);
	lone_put("a", tensor(2));
	lone_put("b", tensor(2));
	lone_put("c", tensor(2));
	coll_coord_run(&lone.c);
	want_order("ab|c|", "no more bytes than the caller has room for");
	lone.fits_bytes = 0;
	lone.c.threshold = ~0ULL;
	lone_put("a", tensor(1ULL << 60));
	lone_put("b", tensor(1ULL << 60));
	lone_put("c", tensor(0));
	coll_coord_run(&lone.c);
	want_order("abc|", "sizes do not overflow");
	lone_finish();
}

static void test_priority(void)
{
	struct coll_coord_params p = tensor(1);
	unsigned int i, wrong = 0;
	char name[8];

	lone_begin(1 << 20);
	lone_put("a", p);
	p.field[COLL_FIELD_PRIORITY] = 2;
	lone_put("b", p);
	p.field[COLL_FIELD_PRIORITY] = 1;
	lone_put("c", p);
	p.field[COLL_FIELD_PRIORITY] = 2;
	lone_put("d", p);
	coll_coord_run(&lone.c);
	want_order("bd|c|a|", "higher priorities first, one by one otherwise");
	for (i = 0; i < MANY - 10; i++) {
		p.field[COLL_FIELD_PRIORITY] = i * 7919U % 1000;
		snprintf(name, sizeof(name), "n%u", i);
		lone_put(name, p);
	}
	coll_coord_run(&lone.c);
	for (i = 1; i < lone.nr; i++) {
		unsigned int a = (unsigned int)atoi(lone.order[i - 1] + 1);
		unsigned int b = (unsigned int)atoi(lone.order[i] + 1);
		unsigned int pa = a * 7919U % 1000, pb = b * 7919U % 1000;

		wrong += pa < pb || (pa == pb && a > b);
	}
	tap_ok(lone.nr == MANY - 10 && !wrong, "%u of many priorities, in order", lone.nr);
	/* Each hundred is sorted by itself. */
	lone.nr = 0;
	lone.c.sorts = 100;
	for (i = 0; i < MANY - 10; i++) {
		p.field[COLL_FIELD_PRIORITY] = i;
		snprintf(name, sizeof(name), "n%u", i);
		lone_put(name, p);
	}
	coll_coord_run(&lone.c);
	for (i = 0, wrong = 0; i < lone.nr && i < 1900; i++)
		wrong += (unsigned int)atoi(lone.order[i] + 1) != i / 100 * 100 + 99 - i % 100;
	tap_ok(lone.nr == MANY - 10 && !wrong, "no more than %u are sorted at a time", lone.c.sorts);
	lone_finish();
}

static struct coll_coord_params urgent(uint64_t elements, uint64_t priority)
{
	struct coll_coord_params p = tensor(elements);

	p.field[COLL_FIELD_PRIORITY] = priority;
	return p;
}

/* Each rank has a length of its own, so there is no shape. */
static struct coll_coord_params counted(uint64_t elements, uint64_t priority)
{
	struct coll_coord_params p = urgent(0, priority);

	p.field[COLL_FIELD_COLLECTIVE] = COLL_ALLGATHERV;
	p.field[COLL_FIELD_COUNTS] = 1;
	p.field[COLL_FIELD_TOTAL] = elements;
	return p;
}

static void want_urgent(const char *want, const char *name)
{
	coll_coord_run(&lone.c);
	want_order(want, name);
}

/* There is room for one op; an urgent one of up to 40 bytes need not wait for room. */
static void test_urgent(void)
{
	lone_begin(1 << 20);
	lone.c.window = 1;
	lone.c.window_ops = 2;
	lone.c.urgent = 40;
	lone.c.urgent_ops = 4;
	lone_put("a", tensor(1000));
	want_urgent("a|", "one op");
	lone_put("b", tensor(10));
	want_urgent("", "another one waits for room");
	lone_put("c", urgent(11, 5));
	want_urgent("", "so does a large one of a higher priority");
	lone_put("d", urgent(10, 5));
	want_urgent("", "and a small one behind it");
	lone_put("e", urgent(4, 6));
	lone_put("f", urgent(4, 6));
	lone_put("g", urgent(4, 6));
	want_urgent("ef|", "not what is urgent, fused as far as it is small");
	lone_put("h", urgent(1, 7));
	want_urgent("h|", "nor what is more urgent still");
	lone_put("i", urgent(1, 7));
	want_urgent("", "what is no more urgent waits");
	lone_put("j", urgent(1, 8));
	want_urgent("j|", "a fourth one");
	lone_put("k", urgent(1, 9));
	want_urgent("", "and no more than so many");
	coll_coord_over(&lone.c, 4);
	want_urgent("k|", "until one is over");
	coll_coord_over(&lone.c, 4);
	coll_coord_over(&lone.c, 4);
	coll_coord_over(&lone.c, 32);
	want_urgent("", "and no one else");
	coll_coord_over(&lone.c, 4000);
	want_urgent("i|", "with room the order is that of priorities");
	coll_coord_over(&lone.c, 4);
	want_order("g|", "as ever");
	coll_coord_over(&lone.c, 16);
	want_order("cd|", "up to the threshold");
	lone_put("l", urgent(1, 5));
	want_urgent("", "what flies counts");
	lone_put("m", urgent(1, 6));
	want_urgent("m|", "and what flew before does not");
	lone_finish();
	lone_begin(1 << 20);
	lone.c.window = 1;
	lone_put("a", tensor(1000));
	lone_put("b", urgent(1, 5));
	coll_coord_run(&lone.c);
	want_urgent("b|", "room for one: the most urgent one first");
	lone_put("c", urgent(1, 6));
	want_urgent("", "without a size nothing is urgent");
	lone_finish();
	lone_begin(1 << 20);
	lone.c.window = 1;
	lone.c.urgent = 40;
	lone.c.urgent_ops = 4;
	lone_put("a", counted(1000, 0));
	want_urgent("a|", "an op with counts");
	lone_put("b", counted(11, 5));
	want_urgent("", "a large one is not urgent");
	lone_put("c", counted(10, 6));
	want_urgent("c|", "a small one is");
	coll_coord_over(&lone.c, 40);
	want_urgent("", "all blocks of the first one count");
	coll_coord_over(&lone.c, 4000);
	want_urgent("b|", "until it is over");
	lone_finish();
}

static void test_bad_input(void)
{
	struct coll_coord_params p = tensor(1), q;
	char name[256], nul[2] = { 'a', 0 };
	unsigned int i;
	int ret = 0;

	lone_begin(0);
	memset(name, 'x', sizeof(name));
	tap_ok(lone_post("", 0, &p) == -EINVAL, "an empty name");
	tap_ok(lone_post(name, 256, &p) == -EINVAL, "256 bytes of name");
	tap_ok(!lone_post(name, 255, &p), "255 bytes of name");
	tap_ok(lone_post(nul, 2, &p) == -EINVAL, "a name with NUL");
	q = p;
	q.field[COLL_FIELD_NDIM] = COLL_COORD_DIMS + 1;
	tap_ok(lone_put("a", q) == -EINVAL, "too many dimensions");
	q = p;
	q.field[COLL_FIELD_DIM0 + 1] = 3;
	tap_ok(lone_put("a", q) == -EINVAL, "a dimension that is none");
	q = tensor(1ULL << 61);
	tap_ok(lone_put("a", q) == -EOVERFLOW, "bytes that do not fit");
	q = tensor(1ULL << 40);
	q.field[COLL_FIELD_NDIM] = 3;
	q.field[COLL_FIELD_DIM0 + 1] = 1ULL << 40;
	tap_ok(lone_put("a", q) == -EOVERFLOW, "a shape whose product overflows, times zero");
	q = p;
	q.field[COLL_FIELD_PRIORITY] = COLL_COORD_PRIORITY_MAX + 1;
	tap_ok(lone_put("a", q) == -EINVAL, "a priority out of range");
	q = p;
	q.field[COLL_FIELD_GROUP] = 5;
	tap_ok(lone_put("a", q) == -EINVAL, "a group of size 0");
	q = p;
	q.field[COLL_FIELD_TOTAL] = 5;
	tap_ok(lone_put("a", q) == -EINVAL, "a sum of counts without counts");
	q.field[COLL_FIELD_COUNTS] = 1;
	q.field[COLL_FIELD_TOTAL] = 1ULL << 62;
	tap_ok(lone_put("a", q) == -EOVERFLOW, "counts whose bytes do not fit");
	q = p;
	q.field[COLL_FIELD_COLLECTIVE] = COLL_NR_COLLECTIVES;
	tap_ok(lone_put("a", q) == -EINVAL, "an unknown collective");
	for (i = 0; !ret; i++) {
		snprintf(name, sizeof(name), "%u", i);
		ret = lone_put(name, p);
	}
	tap_ok(ret == -ENOSPC && lone.c.nr_names == MANY, "names until %u are full", i);
	coll_coord_run(&lone.c);
	tap_ok(lone.nr == MANY, "and what was submitted is started");
	lone_finish();
}

/* Entries that one call visited, at most, since visits_begin(). */
static unsigned int visits_most;

static void visits_count(void)
{
	if (coll_visited > visits_most)
		visits_most = coll_visited;
	coll_visited = 0;
}

static void visits_begin(void)
{
	visits_most = 0;
	coll_visited = 0;
}

/* Run until nothing is left to do. Return: number of calls. */
static unsigned int run_all(void)
{
	unsigned int calls = 0;
	bool more;

	visits_count();
	do {
		more = coll_coord_go_on(&lone.c);
		coll_coord_run(&lone.c);
		visits_count();
		calls++;
	} while (more || lone.c.more);
	return calls;
}

#define STEP	64	/* entries of one call */

static void large_begin(uint64_t threshold)
{
	lone_begin(threshold);
	lone.c.orders = STEP;
	lone.c.looks = STEP;
	visits_begin();
}

/* Post @nr members of a group of @of, which have names from @from on. */
static void large_post(unsigned int from, unsigned int nr, unsigned int of, uint64_t group)
{
	struct coll_coord_params p = tensor(1);
	char name[8];

	p.field[COLL_FIELD_GROUP] = group;
	p.field[COLL_FIELD_MEMBERS] = of;
	while (nr--) {
		snprintf(name, sizeof(name), "%u", from++);
		lone_put(name, p);
		visits_count();
	}
}

/* How many of what was started are in the order of their names? */
static unsigned int large_in_order(void)
{
	unsigned int i;

	for (i = 0; i < lone.nr && (unsigned int)atoi(lone.order[i]) == i; i++)
		;
	return i;
}

/* A large group, and a rank gives one up: all of it ends, and no call visits more than it may. */
static void test_large_group_ends(void)
{
	const unsigned int members = MANY;
	unsigned int calls;

	large_begin(0);
	large_post(0, members, members + 1, 77);
	run_all();
	tap_ok(!lone.nr && !lone.c.more, "a member is missing: none starts");
	lone_give_up("7");
	calls = run_all();
	tap_ok(lone.nr_bad == members && !lone.nr && visits_most <= 2 * STEP,
	       "%u members end, in %u calls that visit %u at most", lone.nr_bad, calls,
	       visits_most);
	large_post(0, 2, 2, 77);
	run_all();
	tap_ok(large_in_order() == 2, "names can be submitted again, and a group of two starts");
	lone_finish();
}

/* Members of a group end one after the other, and a large group that waits shares its list. */
static void test_large_group_beside(void)
{
	unsigned int i, calls;
	char name[8];

	large_begin(0);
	lone.c.nr_groups = 1;
	large_post(0, MANY - STEP, MANY, 77);
	large_post(MANY - STEP, STEP, MANY, 78);
	run_all();
	for (i = 0; i < STEP; i++) {
		snprintf(name, sizeof(name), "%u", MANY - STEP + i);
		lone_give_up(name);
		visits_count();
	}
	calls = run_all();
	tap_ok(lone.nr_bad == STEP && !lone.nr && visits_most <= 4 * STEP,
	       "%u members of a small group end, in %u calls that visit %u at most", lone.nr_bad,
	       calls, visits_most);
	lone_finish();
}

/* A large group is whole: all of it starts in order, before what became ready meanwhile. */
static void test_large_group_starts(void)
{
	const unsigned int members = MANY - 1;
	unsigned int calls, first;
	char last[8];

	snprintf(last, sizeof(last), "%u", members);
	large_begin(0);
	large_post(0, members, members, 77);
	coll_coord_run(&lone.c);
	visits_count();
	first = lone.nr;
	lone_put(last, tensor(1));
	calls = run_all();
	tap_ok(!first && large_in_order() == MANY && visits_most <= 3 * STEP,
	       "%u members start, and then another one, in %u calls that visit %u at most",
	       members, calls, visits_most);
	lone_finish();
	/* One member has started, there is no room for the next one, and a rank gives one up. */
	large_begin(0);
	lone.c.window_ops = 1;
	large_post(0, members, members, 77);
	run_all();
	lone.c.window_ops = 0;
	lone_give_up("7");
	run_all();
	tap_ok(large_in_order() == members && !lone.nr_bad && visits_most <= 3 * STEP,
	       "all of them, once one has started");
	lone_finish();
	/* While this group is marked, a member of another one fails. There is room for one op. */
	large_begin(0);
	lone.c.window_ops = 1;
	large_post(members, 1, 2, 78);
	large_post(0, members, members, 77);
	for (calls = 0; coll_chain_empty(&lone.c.fusion) && calls < MANY; calls++)
		coll_coord_run(&lone.c);
	lone_give_up(last);
	run_all();
	tap_ok(calls < MANY && lone.nr == 1 && lone.nr_bad == 1,
	       "what fails while a large group begins ends at once");
	lone_finish();
}

/* Fusions of many tensors: a call ends one, and begins no other. */
static void test_large_fusions(void)
{
	const unsigned int most = 256;
	unsigned int i, calls;
	char name[8];

	large_begin(1 << 20);
	lone.c.most = most;
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%u", i);
		lone_put(name, tensor(1));
	}
	calls = run_all();
	for (i = 0; i < MANY && lone.last[i] == (i % most == most - 1 || i == MANY - 1); i++)
		;
	tap_ok(i == MANY && large_in_order() == MANY && visits_most <= most + STEP,
	       "%u are fused, in %u calls that visit %u at most", lone.nr, calls, visits_most);
	lone_finish();
}

/* All have joined: groups that are not whole end, and the others start before. */
static void test_large_join(void)
{
	unsigned int i, calls;

	large_begin(0);
	for (i = 0; i < MANY / 4; i++)
		large_post(i, 1, 2, 1000 + i);
	large_post(MANY / 4, MANY / 4, MANY, 77);
	coll_coord_join(&lone.c, 0);
	calls = run_all();
	tap_ok(!lone.nr && lone.nr_bad == MANY / 2 && lone.c.forgiven == 1 && visits_most <= 3 * STEP,
	       "a join ends %u, in %u calls that visit %u at most", lone.nr_bad, calls, visits_most);
	lone_finish();
}

/* --- the order does not depend on how much one call does ------------------------------- */

#define ACTS	200

/* Another op may start at once. */
static void end_newest(void)
{
	uint64_t bytes = lone.bytes[--lone.flying];

	lone.bytes[lone.flying] = 0;
	coll_coord_over(&lone.c, bytes);
}

/* Post a tensor of a random group, end an op, or give a tensor up. */
static void act(uint64_t *seed)
{
	uint32_t what = (uint32_t)(tap_random(seed) >> 33), group = what % 7;
	struct coll_coord_params p = tensor(1 + what / 7 % 20);
	char name[8];

	p.field[COLL_FIELD_PRIORITY] = what >> 8 & 3;
	p.field[COLL_FIELD_GROUP] = group;
	p.field[COLL_FIELD_MEMBERS] = group;
	snprintf(name, sizeof(name), "%u.%u", group, what >> 10 & 7);
	switch (what >> 13 & 7) {
	case 0:
		if (lone.flying)
			end_newest();
		break;
	case 1:
		lone_give_up(name);
		break;
	default:
		lone_put(name, p);
	}
	run_all();
}

/* Play @seed. Return: what has been started, with a bar behind each fusion. */
static char *play_acts(uint64_t seed, uint32_t step)
{
	static char text[2][ACTS * 16];
	char *to = text[!step];
	unsigned int i, n;

	lone_begin(200);
	lone.c.looks = step;
	lone.c.orders = step;
	lone.c.window_ops = 3;
	lone.c.urgent = 8;
	lone.c.urgent_ops = 5;
	for (i = 0; i < ACTS; i++)
		act(&seed);
	for (i = 0, n = 0, *to = 0; i < lone.nr; i++)
		n += (unsigned int)snprintf(to + n, sizeof(text[0]) - n, "%s%s ", lone.order[i],
					    lone.last[i] ? "|" : "");
	snprintf(to + n, sizeof(text[0]) - n, "%u", lone.nr_bad);
	lone_finish();
	return to;
}

static void test_same_order(uint64_t seed)
{
	static const uint32_t steps[] = { 1, 2, 3, 7, STEP };
	unsigned int i, k, wrong = 0, starts = 0, ends = 0;

	for (i = 0; i < 400; i++) {
		const char *all = play_acts(seed, 0);

		starts += lone.nr;
		ends += lone.nr_bad;
		for (k = 0; k < sizeof(steps) / sizeof(steps[0]); k++)
			wrong += strcmp(all, play_acts(seed, steps[k])) != 0;
		tap_random(&seed);
	}
	tap_ok(!wrong && starts && ends, "%u start, and %u end, in the same order in small steps",
	       starts, ends);
}

static void test_rehash(void)
{
	static struct coll_coord_entry *names[256], *ids[256];
	unsigned int i;
	char name[8];

	lone_begin(0);
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "%u", i);
		lone_put(name, tensor(1));
		if (i == 300) {
			coll_coord_run(&lone.c);
			coll_coord_rehash(&lone.c, names, ids, 256);
		}
	}
	coll_coord_run(&lone.c);
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "%u", i);
		lone_put(name, tensor(1));
	}
	coll_coord_run(&lone.c);
	tap_ok(lone.nr == 1000 && lone.c.nr_names == 500 && lone.c.last_id == 500,
	       "names and ids in larger tables");
	lone_finish();
}

/* --- a hostile peer ---------------------------------------------------------------------- */

static uint8_t bytes[COLL_COORD_REC_MAX];

static uint32_t random_record(uint64_t *seed)
{
	static uint8_t name[255];
	struct coll_coord_rec r = { };
	uint32_t k, len;

	r.kind = (uint8_t)(1 + (tap_random(seed) >> 40) % (COLL_NR_KINDS - 1));
	r.last = tap_random(seed) >> 63;
	r.with_joined = tap_random(seed) >> 63;
	r.has_params = tap_random(seed) >> 63;
	r.id = (uint32_t)(tap_random(seed) >> 40) % 4;
	r.round = (uint32_t)(tap_random(seed) >> 40) % 3;
	r.contributors = (uint32_t)(tap_random(seed) >> 40) % 3;
	r.serial = (uint32_t)(tap_random(seed) >> 40) % 4;
	if (tap_random(seed) >> 62 == 0)
		r.bad.cause = (uint32_t)(tap_random(seed) >> 40) % (COLL_NR_BAD + 1);
	r.params = tensor(1 + (tap_random(seed) >> 63));
	if (tap_random(seed) >> 63) {
		name[0] = (uint8_t)('a' + (tap_random(seed) >> 40) % 3);
		r.name = name;
		r.name_len = 1;
	}
	len = coll_coord_put(bytes, &r);
	/* Bits of it turn over. */
	for (k = (uint32_t)(tap_random(seed) >> 62); k > 1; k--)
		bytes[(tap_random(seed) >> 33) % len] ^= (uint8_t)(1 << (tap_random(seed) >> 61));
	return tap_random(seed) >> 60 ? len : (uint32_t)(tap_random(seed) >> 33) % (len + 1);
}

/* The coordinator may refuse a record or believe it. Sanitizers find what it does wrong. */
static void test_hostile(uint64_t seed)
{
	unsigned int i, k, refused = 0, taken = 0, garbled = 0;
	struct coll_coord_rec r;
	uint32_t len;
	int ret;

	for (i = 0; i < 2000; i++) {
		lone_begin(1 << 10);
		lone.c.is_root = i & 1;
		lone.c.all_children = 3;
		for (k = 0; k < 60; k++) {
			struct coll_coord_entry *spare = calloc(1, coll_coord_entry_bytes(1));
			uint8_t *exact;

			len = random_record(&seed);
			/* An own copy, so that reading behind it is seen. */
			exact = malloc(len ?: 1);
			memcpy(exact, bytes, len);
			if (!coll_coord_get(exact, len, &r)) {
				garbled++;
			} else {
				ret = lone.c.is_root || k & 1 ?
				      coll_coord_from_child(&lone.c, k % 3, &r, &spare) :
				      coll_coord_from_parent(&lone.c, &r, &spare);
				refused += ret != 0;
				taken += !ret;
			}
			free(exact);
			free(spare);
			lone_put(k & 2 ? "a" : "b", tensor(1));
			coll_coord_run(&lone.c);
			if (lone.nr > MANY / 2)
				lone.nr = 0;
			while (coll_coord_to_child(&lone.c, k % 2, &r) ||
			       coll_coord_to_parent(&lone.c, &r))
				;
		}
		lone_finish();
	}
	tap_ok(refused && taken && garbled,
	       "a hostile peer: %u records refused, %u taken, %u garbled", refused, taken, garbled);
}

/* ------------------------------------------------------------------------------------------ */

static int play_one(const char *name)
{
	unsigned int i;
	size_t k;

	for (k = 0; k < sizeof(scenes) / sizeof(scenes[0]); k++) {
		if (strcmp(scenes[k].name, name))
			continue;
		if (!play(&scenes[k])) {
			printf("%s\n", world_fault);
			world_print();
			for (i = 0; i < path_len; i++)
				printf("%u ", path[i]);
			putchar('\n');
		}
	}
	return world_fault != NULL;
}

int main(void)
{
	const char *one = getenv("COLL_SCENE"), *rule = getenv("COLL_RULE");
	uint64_t seed = tap_seed();
	unsigned long all = 0;
	size_t k;
	int i;

	coll_rule_dropped = rule ? atoi(rule) : 0;
	if (one)
		return play_one(one);
	test_fusion();
	test_priority();
	test_urgent();
	test_bad_input();
	test_large_group_ends();
	test_large_group_beside();
	test_large_group_starts();
	test_large_fusions();
	test_large_join();
	test_same_order(seed);
	test_rehash();
	test_hostile(seed);
	for (k = 0; k < sizeof(scenes) / sizeof(scenes[0]); k++) {
		bool good = play(&scenes[k]);

		all += set.nr;
		tap_ok(good, "%s: %zu states%s%s", scenes[k].name, set.nr, good ? "" : ", ",
		       good ? "" : world_fault);
		if (!good)
			world_print();
	}
	printf("# all interleavings: %lu states, %lu steps\n", all, steps);
	tap_ok(wander_shapes(seed, 30, true), "random walks of up to 64 nodes");
	for (i = 1; i < COLL_NR_RULES; i++)
		drop_rule(i);
	return tap_done();
}
