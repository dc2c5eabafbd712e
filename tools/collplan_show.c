// SPDX-License-Identifier: GPL-2.0
/*
 * collplan show: one schedule, round by round, as text and as a picture.
 */
#include "collplan.h"

#define COLUMN	130	/* of the picture: between two participants */
#define LEFT	70
#define TOP	80
#define ROW	28	/* between two lanes of a round */
#define MAX_N	512

/*
 * In the picture, messages of a round share a lane if they do not overlap. If a round needs more
 * than LANES lanes, all messages that are left share the last one.
 */
#define LANES	64

struct show {
	const struct coll_algorithm *alg;
	struct schedule s;
	u32 root;
	FILE *svg;	/* the picture below its head */
	u32 y;		/* of the round */
	u32 lanes;
	bool used[LANES][MAX_N];
};

static const char *space_name(u32 space)
{
	return space == COLL_SPACE_TMP ? "T" : space == COLL_SPACE_INPUT ? "in" : "";
}

static const char *range(u32 space, u32 chunk, u32 nr, char *buf, size_t len)
{
	if (!nr)
		snprintf(buf, len, "token");
	else if (nr == 1)
		snprintf(buf, len, "%s%u", space_name(space), chunk);
	else
		snprintf(buf, len, "%s%u-%u", space_name(space), chunk, chunk + nr - 1);
	return buf;
}

/* A step as a formula; S is its range. */
static const char *formula(const struct coll_step *s, char *buf, size_t len)
{
	bool last = s->flags & COLL_STEP_LAST;
	char from[32];

	range(s->from_space, s->from, s->nr_chunks, from, sizeof(from));
	switch (s->action) {
	case COLL_ACT_COPY:
		return "copy";
	case COLL_ACT_REDUCE_IN:
		return last ? "inputs op received" : "received op inputs";
	case COLL_ACT_REDUCE:
		return last ? "behind what is there" : "before what is there";
	case COLL_ACT_INPUT:
		return "inputs";
	case COLL_ACT_FOLD_INPUT:
		return last ? "inputs behind what is there" : "inputs before what is there";
	case COLL_ACT_FOLD:
		snprintf(buf, len, "%s %s what is there", from, last ? "behind" : "before");
		return buf;
	case COLL_ACT_MOVE:
		snprintf(buf, len, "copy of %s", from);
		return buf;
	}
	return "";
}

/* The step of @p, from number @from on, that sends to @peer for the k-th time. */
static const struct coll_step *kth(const struct show *x, u32 p, u32 kind, u32 peer, u32 k)
{
	u64 i;

	for (i = x->s.base[p]; i < x->s.base[p + 1]; i++) {
		const struct coll_step *s = &x->s.steps[i];

		if (s->kind == kind && s->peer == peer && !k--)
			return s;
	}
	die("%s %s: a receive without its send", collective_name(x->alg->collective),
	    x->alg->name);
}

static void print_local(struct show *x, u32 p, const struct coll_step *s)
{
	char what[32], how[64];

	printf("      %4u         %-8s = %s%s%s\n", p,
	       range(s->space, s->chunk, s->nr_chunks, what, sizeof(what)),
	       formula(s, how, sizeof(how)), s->flags & COLL_STEP_FINAL ? ", final" : "",
	       s->flags & COLL_STEP_FENCE ? " (after all before)" : "");
}

/* The first lane that is free between two columns. */
static u32 take_lane(struct show *x, u32 from, u32 to)
{
	u32 lane, i;

	for (lane = 0; lane < LANES - 1; lane++) {
		for (i = from; i < to && !x->used[lane][i]; i++)
			;
		if (i == to)
			break;
	}
	for (i = from; i < to; i++)
		x->used[lane][i] = true;
	x->lanes = lane + 1 > x->lanes ? lane + 1 : x->lanes;
	return lane;
}

static void arrow(struct show *x, u32 from, u32 to, const struct coll_step *s,
		  const struct coll_step *r)
{
	bool folds = r->action == COLL_ACT_REDUCE || r->action == COLL_ACT_REDUCE_IN;
	u32 a = LEFT + from * COLUMN, b = LEFT + to * COLUMN;
	const char *color = !s->nr_chunks ? "#888" : folds ? "#b03020" : "#2050b0";
	u32 y = x->y + take_lane(x, from < to ? from : to, from < to ? to : from) * ROW;
	char what[32];

	fprintf(x->svg, "<line x1=\"%u\" y1=\"%u\" x2=\"%d\" y2=\"%u\" stroke=\"%s\"%s "
		"marker-end=\"url(#%s)\"/>\n", a, y, (int)b + (from < to ? -4 : 4), y + 14,
		color, s->nr_chunks ? "" : " stroke-dasharray=\"4 3\"",
		!s->nr_chunks ? "t" : folds ? "f" : "c");
	/* near the sender, where few arrows cross */
	fprintf(x->svg, "<text x=\"%d\" y=\"%u\" fill=\"%s\" text-anchor=\"middle\">%s%s</text>\n",
		(int)a + (from < to ? 34 : -34), y + 1, color,
		s->nr_chunks ? range(s->space, s->chunk, s->nr_chunks, what, sizeof(what)) : "",
		r->flags & COLL_STEP_FINAL ? "!" : "");
}

static void print_send(struct show *x, u32 p, const struct coll_step *s, u32 k)
{
	const struct coll_step *r = kth(x, s->peer, COLL_STEP_RECV, p, k);
	char out[32], in[32], how[64];

	range(s->space, s->chunk, s->nr_chunks, out, sizeof(out));
	range(r->space, r->chunk, r->nr_chunks, in, sizeof(in));
	printf("      %4u -> %-4u %-8s", p, s->peer, out);
	if (s->nr_chunks)
		printf("   %s%s%s%s", formula(r, how, sizeof(how)),
		       strcmp(out, in) ? ", into " : "", strcmp(out, in) ? in : "",
		       r->flags & COLL_STEP_FINAL ? ", final" : "");
	putchar('\n');
	if (x->svg)
		arrow(x, p, s->peer, s, r);
}

static void begin_round(struct show *x, u32 round)
{
	printf("round %u\n", round);
	if (!x->svg)
		return;
	x->y += x->lanes * ROW;
	x->lanes = 0;
	memset(x->used, 0, sizeof(x->used));
	fprintf(x->svg, "<line x1=\"8\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"#ddd\"/>\n", x->y,
		LEFT + (x->s.n - 1) * COLUMN + 40, x->y);
	x->y += 20;
	fprintf(x->svg, "<text x=\"8\" y=\"%u\" fill=\"#444\">round %u</text>\n", x->y, round);
}

/* All that is sent in one round, and what is done in place before it. */
static void one_round(struct show *x, u32 round, u64 *at, u32 *sent)
{
	bool begun = false;
	u32 p, i;

	for (p = 0; p < x->s.n; p++) {
		for (; at[p] < x->s.base[p + 1]; at[p]++) {
			const struct coll_step *s = &x->s.steps[at[p]];

			if (s->kind != COLL_STEP_LOCAL && s->round > round)
				break;
			if (s->kind == COLL_STEP_RECV)
				continue;
			if (!begun)
				begin_round(x, round);
			begun = true;
			if (s->kind == COLL_STEP_LOCAL) {
				print_local(x, p, s);
				continue;
			}
			i = sent[p * x->s.n + s->peer]++;
			print_send(x, p, s, i);
		}
	}
}

static u32 last_round(const struct schedule *s)
{
	u32 last = 0;
	u64 i;

	for (i = 0; i < s->base[s->n]; i++) {
		if (s->steps[i].kind != COLL_STEP_LOCAL && s->steps[i].round > last)
			last = s->steps[i].round;
	}
	return last;
}

/* Head and columns, now that the height is known; then what has been drawn. */
static void write_svg(const struct show *x, const char *file, const char *body)
{
	static const char *const marker[][2] = {
		{ "t", "#888" }, { "f", "#b03020" }, { "c", "#2050b0" },
	};
	u32 height = x->y + x->lanes * ROW + 30, i;
	u32 width = LEFT + (x->s.n - 1) * COLUMN + 70;
	FILE *f = fopen(file, "w");

	if (!f)
		die("%s: %m", file);
	width = width < 460 ? 460 : width;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"white\"/>\n<defs>\n", width, height);
	for (i = 0; i < 3; i++)
		fprintf(f, "<marker id=\"%s\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" "
			"refY=\"3\" orient=\"auto\"><path d=\"M0,0 L7,3 L0,6 z\" fill=\"%s\"/>"
			"</marker>\n", marker[i][0], marker[i][1]);
	fprintf(f, "</defs>\n<text x=\"8\" y=\"18\" font-size=\"15\">%s %s, %u participants",
		collective_name(x->alg->collective), x->alg->name, x->s.n);
	if (is_rooted(x->alg->collective))
		fprintf(f, ", root %u", x->root);
	fprintf(f, "</text>\n<text x=\"8\" y=\"36\" fill=\"#444\">red: folded, blue: copied, "
		"dashed: token, !: final; numbers are chunks, T: scratch</text>\n");
	for (i = 0; i < x->s.n; i++)
		fprintf(f, "<text x=\"%u\" y=\"62\" text-anchor=\"middle\" "
			"font-weight=\"bold\">%u</text>\n<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" "
			"stroke=\"#bbb\"/>\n", LEFT + i * COLUMN, i, LEFT + i * COLUMN, TOP - 10,
			LEFT + i * COLUMN, height - 20);
	fprintf(f, "%s</svg>\n", body);
	if (ferror(f) | fclose(f))
		die("%s: cannot write", file);
}

static void show_rounds(struct show *x)
{
	u32 n = x->s.n, round, last = last_round(&x->s);
	u64 *at = need(malloc((n + 1) * sizeof(*at)));
	u32 *sent = need(calloc((size_t)n * n, sizeof(*sent)));

	memcpy(at, x->s.base, (n + 1) * sizeof(*at));
	for (round = 0; round <= last; round++)
		one_round(x, round, at, sent);
	free(at);
	free(sent);
}

int cmd_show(int argc, char **argv)
{
	const char *word[2] = { NULL, NULL }, *svg = NULL;
	u32 n = 0, root = 0, radix = 0, words = 0;
	static struct show x;
	char *body = NULL;
	size_t size;

	for (; argc > 0; argc--, argv++) {
		if (**argv != '-' && words < 2) {
			word[words++] = *argv;
			continue;
		}
		if (argc < 2)
			die("show: %s needs a value", *argv);
		if (!strcmp(*argv, "-p"))
			n = parse_bytes(argv[1]);
		else if (!strcmp(*argv, "-r"))
			root = parse_bytes(argv[1]);
		else if (!strcmp(*argv, "-k"))
			radix = parse_bytes(argv[1]);
		else if (!strcmp(*argv, "--svg"))
			svg = argv[1];
		else
			die("show: unknown option %s", *argv);
		argc--;
		argv++;
	}
	if (words < 2 || !n || n > MAX_N || root >= n)
		die("show: COLLECTIVE ALGORITHM -p 1 to 512, and a root among them");
	x.alg = find_algorithm(word[0], word[1]);
	x.root = root;
	load_schedule(&x.s, x.alg, n, root, radix);
	printf("%s %s, %u participants, root %u: %u chunks, %u transfers in the longest chain\n",
	       word[0], word[1], n, root, x.alg->chunks(n), x.alg->latency(n, root));
	printf("T: scratch, in: input; final: written to the outputs\n");
	x.y = TOP;
	if (svg)
		x.svg = need(open_memstream(&body, &size));
	show_rounds(&x);
	if (svg) {
		fclose(x.svg);
		write_svg(&x, svg, need(body));
		free(body);
	}
	free_schedule(&x.s);
	return 0;
}
