// SPDX-License-Identifier: GPL-2.0
/*
 * Events of the module become a timeline. Each group of the kernel is a "process", with a track
 * ("thread") for each rank, one for the ops, and two for each link:
 *
 *	rank r		a tick when the rank is ready with a tensor, or submits a command
 *	ops		each op, from its start to its end; with the tensors that are in it
 *	to node p	of each op, from the first bytes sent to the last; and from node p
 *
 * and for each rank and tensor an "async" slice from the post to the end. One event is one
 * line, and "pid" comes first: timeline_merge() counts on it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collctl.h"
#include "collctl_trace.h"
#include "optable.h"
#include "utf8.h"

#define BUCKETS		4096
#define NAME		256		/* bytes of a name, and a NUL */
#define OPS		100000		/* track of the ops */
#define LINKS		(OPS + 1)	/* first track of a link */
/* "pid" of the groups of one host, in a merged file. */
#define GROUPS		1000000

/* The kinds of steps that segments are of; see kmod/pure/schedule.h. */
enum { SEND = 1, RECV = 2 };

enum what { POSTED, RUNNING, MOVING, SUBMITTED, TRACK, GROUP };

/**
 * struct item - something that has begun
 * @kind: POSTED: by rank @sub, a tensor; RUNNING: op @seq; MOVING: bytes of it, track @sub;
 *	SUBMITTED: the last command of rank @sub; TRACK: @sub has been named; GROUP: a group that
 *	has been seen; if @nr is not 0, it has named tensors and is on node @bytes
 * @name: of the tensor
 * @round: of it
 * @since: when it began, and
 * @last: when it was last seen, microseconds
 * @bytes: moved, or of the vector
 * @nr: tensors of an op; segments
 */
struct item {
	struct item *next;
	enum what kind;
	unsigned long long group, seq, sub, round, bytes, nr;
	double since, last;
	char name[2 * NAME];
};

static struct timeline {
	struct item *bucket[BUCKETS];
	FILE *out;
	const struct timeline_info *info;
	unsigned long long ids;
	bool comma;
} t;

/* --- what there is ------------------------------------------------------------------- */

static size_t hash(enum what kind, unsigned long long group, unsigned long long seq)
{
	return ((kind * 31 + group) * 1000003 + seq) % BUCKETS;
}

static struct item *add(enum what kind, unsigned long long group, unsigned long long seq,
			unsigned long long sub, double now)
{
	struct item *i = calloc(1, sizeof(*i)), **b = &t.bucket[hash(kind, group, seq)];

	if (!i) {
		fprintf(stderr, "collctl: out of memory\n");
		exit(1);
	}
	*i = (struct item){ .next = *b, .kind = kind, .group = group, .seq = seq, .sub = sub,
			    .since = now, .last = now };
	*b = i;
	return i;
}

static bool is(const struct item *i, enum what kind, unsigned long long group,
	       unsigned long long seq)
{
	return i->kind == kind && i->group == group && i->seq == seq;
}

static struct item *find(enum what kind, unsigned long long group, unsigned long long seq,
			 unsigned long long sub)
{
	struct item *i = t.bucket[hash(kind, group, seq)];

	while (i && !(is(i, kind, group, seq) && i->sub == sub))
		i = i->next;
	return i;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void put_string(const char *s)
{
	putc('"', t.out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		size_t len = utf8_len(s);

		if (len) {
			fwrite(s, 1, len, t.out);
			s += len - 1;
		} else if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(t.out, "\\u%04x", c);
		else
			putc(c, t.out);
	}
	putc('"', t.out);
}

/* The beginning of an event. @ph: as the format calls its kind. */
static void begin(unsigned long long group, unsigned long long track, const char *ph, double us,
		  const char *name)
{
	fprintf(t.out, "%s{\"pid\":%llu,\"tid\":%llu,\"ph\":\"%s\",\"ts\":%.3f,\"name\":",
		t.comma ? ",\n" : "", group, track, ph, us + t.info->epoch_us);
	put_string(name);
	t.comma = true;
}

static void name_track(unsigned long long group, unsigned long long track, const char *what,
		       const char *name)
{
	begin(group, track, "M", -t.info->epoch_us, what);
	fputs(",\"args\":{\"name\":", t.out);
	put_string(name);
	fputs("}}", t.out);
}

/* The first event of a track names it. */
static void have_track(unsigned long long group, unsigned long long track, const char *fmt,
		       unsigned long long nr)
{
	char name[64];

	if (find(TRACK, group, 0, track))
		return;
	add(TRACK, group, 0, track, 0);
	snprintf(name, sizeof(name), fmt, nr);
	name_track(group, track, "thread_name", name);
}

static struct item *have_group(unsigned long long group)
{
	struct item *i = find(GROUP, group, 0, 0);

	return i ? i : add(GROUP, group, 0, 0, 0);
}

/* Only events of tensors tell the node. */
static void name_group(const struct item *i)
{
	char name[160];

	if (i->nr)
		snprintf(name, sizeof(name), "%s, group %llu, node %llu", t.info->host, i->group,
			 i->bytes);
	else
		snprintf(name, sizeof(name), "%s, group %llu", t.info->host, i->group);
	name_track(i->group, 0, "process_name", name);
}

/* Bytes, as hexadecimal digits. A NUL ends the name that is shown. */
static void decode(const char *hex, char *to, size_t size)
{
	unsigned int byte;
	size_t n = 0;

	while (n + 1 < size && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		to[n++] = (char)byte;
	to[n] = 0;
}

/* --- events ------------------------------------------------------------------------------ */

/* The number behind " @key=". */
static unsigned long long field(const char *line, const char *key)
{
	char with[32];
	const char *at;

	snprintf(with, sizeof(with), " %s=", key);
	at = strstr(line, with);
	return at ? strtoull(at + strlen(with), NULL, 0) : 0;
}

static const char *hex_name(const char *line)
{
	const char *at = strstr(line, " name=");

	return at ? at + 6 : "";
}

/* Take an item out of the list it is in. */
static void drop(struct item *gone)
{
	struct item **at = &t.bucket[hash(gone->kind, gone->group, gone->seq)];

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	free(gone);
}

static void on_post(const char *line, double now)
{
	unsigned long long group = field(line, "group"), rank = field(line, "rank");
	struct item *i = find(SUBMITTED, group, 0, rank), *g = have_group(group);

	g->nr = 1;
	g->bytes = field(line, "node");
	/* The last submitted command was that of this tensor. */
	if (i)
		drop(i);
	have_track(group, rank, "rank %llu", rank);
	i = add(POSTED, group, 0, rank, now);
	decode(hex_name(line), i->name, NAME);
	i->round = field(line, "round");
	i->bytes = field(line, "bytes");
	begin(group, rank, "i", now, "ready");
	fputs(",\"s\":\"t\",\"cat\":\"ready\",\"args\":{\"tensor\":", t.out);
	put_string(i->name);
	fprintf(t.out, ",\"round\":%llu,\"bytes\":%llu}}", i->round, i->bytes);
}

/* Both ends of the time in which a rank had the tensor posted. */
static void put_async(const struct item *i, double now, const char *how)
{
	begin(i->group, i->sub, "b", i->since, i->name);
	fprintf(t.out, ",\"cat\":\"tensor\",\"id2\":{\"local\":\"%llu\"},\"args\":{\"round\":%llu,\"bytes\":%llu}}",
		++t.ids, i->round, i->bytes);
	begin(i->group, i->sub, "e", now, i->name);
	fprintf(t.out, ",\"cat\":\"tensor\",\"id2\":{\"local\":\"%llu\"},\"args\":{\"end\":\"%s\"}}",
		t.ids, how);
}

/* A tensor starts or fails: its posts by all ranks of the group belong to an op, or have failed. */
static void on_tensor_start(const char *line, double now)
{
	unsigned long long group = field(line, "group"), seq = field(line, "seq");
	unsigned long long round = field(line, "round"), cause = field(line, "cause");
	struct item **at = &t.bucket[hash(POSTED, group, 0)], *i, *op;
	char name[NAME];

	/* An op has a number, and a failure has a cause: else nothing has started or failed. */
	if (!seq && !cause)
		return;
	decode(hex_name(line), name, sizeof(name));
	while ((i = *at)) {
		if (!is(i, POSTED, group, 0) || i->round != round || strcmp(i->name, name)) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		if (cause) {
			put_async(i, now, "failed");
			free(i);
			continue;
		}
		i->seq = seq;
		i->next = t.bucket[hash(POSTED, group, seq)];
		t.bucket[hash(POSTED, group, seq)] = i;
	}
	if (cause)
		return;
	op = find(RUNNING, group, seq, 0);
	if (!op) {
		op = add(RUNNING, group, seq, 0, now);
		snprintf(op->name, sizeof(op->name), "%s", name);
	}
	if (++op->nr > 1)
		snprintf(op->name, sizeof(op->name), "%llu tensors", op->nr);
}

static void put_submit(const struct item *i)
{
	have_track(i->group, i->sub, "rank %llu", i->sub);
	begin(i->group, i->sub, "i", i->since, i->name);
	fprintf(t.out, ",\"s\":\"t\",\"cat\":\"submit\",\"args\":{\"count\":%llu}}", i->bytes);
}

/* A command. It may be that of a tensor: the next event of the rank says so. */
static void on_submit(const char *line, double now)
{
	unsigned long long group = field(line, "group"), rank = field(line, "rank");
	struct item *i = find(SUBMITTED, group, 0, rank);

	if (have_group(group)->nr)
		return;
	if (i)
		put_submit(i);
	else
		i = add(SUBMITTED, group, 0, rank, now);
	i->since = now;
	i->bytes = field(line, "count");
	snprintf(i->name, sizeof(i->name), "%s",
		 known(coll_collective_name((uint32_t)field(line, "collective"))));
}

static void on_start(const char *line, double now)
{
	unsigned long long group = field(line, "group"), seq = field(line, "seq");
	struct item *op = find(RUNNING, group, seq, 0);

	have_group(group);
	have_track(group, OPS, "ops", 0);
	if (!op) {
		op = add(RUNNING, group, seq, 0, now);
		snprintf(op->name, sizeof(op->name), "%s",
			 known(coll_collective_name((uint32_t)field(line, "collective"))));
	}
	op->since = now;
	op->bytes = field(line, "bytes");
}

static void on_segment(const char *line, double now)
{
	unsigned long long group = field(line, "group"), seq = field(line, "seq");
	unsigned long long kind = field(line, "kind"), peer = field(line, "peer"), track;
	struct item *i;

	if (kind != SEND && kind != RECV)
		return;
	track = LINKS + 2 * peer + (kind == RECV);
	have_track(group, track, kind == SEND ? "to node %llu" : "from node %llu", peer);
	i = find(MOVING, group, seq, track);
	if (!i)
		i = add(MOVING, group, seq, track, now);
	i->last = now;
	i->bytes += field(line, "len");
	i->nr++;
}

/* Write what belongs to op @seq, and forget it. */
static void flush(enum what kind, unsigned long long group, unsigned long long seq, double now,
		  const char *how)
{
	struct item **at = &t.bucket[hash(kind, group, seq)], *i;
	char name[48];

	while ((i = *at)) {
		if (!is(i, kind, group, seq)) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		if (kind == POSTED) {
			put_async(i, now, how);
		} else if (kind == RUNNING) {
			begin(group, OPS, "X", i->since, i->name);
			fprintf(t.out, ",\"dur\":%.3f,\"cat\":\"op\",\"args\":{\"seq\":%llu,\"bytes\":%llu,\"tensors\":%llu,\"end\":\"%s\"}}",
				now - i->since, seq, i->bytes, i->nr, how);
		} else {
			snprintf(name, sizeof(name), "op %llu", seq);
			begin(group, i->sub, "X", i->since, name);
			fprintf(t.out, ",\"dur\":%.3f,\"cat\":\"link\",\"args\":{\"seq\":%llu,\"bytes\":%llu,\"segments\":%llu}}",
				i->last - i->since, seq, i->bytes, i->nr);
		}
		free(i);
	}
}

static void end_op(unsigned long long group, unsigned long long seq, double now, const char *how)
{
	flush(POSTED, group, seq, now, how);
	flush(MOVING, group, seq, now, how);
	flush(RUNNING, group, seq, now, how);
}

/* A tensor of a rank has ended before its op. */
static void on_tensor_over(const char *line, double now)
{
	unsigned long long group = field(line, "group"), seq = field(line, "seq");
	unsigned long long rank = field(line, "rank");
	char name[NAME];
	struct item *i;

	decode(hex_name(line), name, sizeof(name));
	for (i = t.bucket[hash(POSTED, group, seq)]; i; i = i->next)
		if (is(i, POSTED, group, seq) && i->sub == rank && !strcmp(i->name, name))
			break;
	if (!i)
		return;
	put_async(i, now, "ok");
	drop(i);
}

static void on_complete(const char *line, double now)
{
	end_op(field(line, "group"), field(line, "seq"), now,
	       strstr(line, " result=0") ? "ok" : "failed");
}

static void on_abort(const char *line, double now)
{
	unsigned long long group = field(line, "group");

	have_group(group);
	begin(group, OPS, "i", now, "failed");
	fprintf(t.out, ",\"s\":\"p\",\"cat\":\"failure\",\"args\":{\"error\":%llu}}",
		field(line, "error"));
}

static const struct {
	const char *name;
	void (*fn)(const char *line, double now);
} handlers[] = {
	{ " coll_tensor_post: ", on_post },
	{ " coll_tensor_start: ", on_tensor_start },
	{ " coll_tensor_over: ", on_tensor_over },
	{ " coll_submit: ", on_submit },
	{ " coll_start: ", on_start },
	{ " coll_segment: ", on_segment },
	{ " coll_complete: ", on_complete },
	{ " coll_abort: ", on_abort },
};

/* The last place where @what is in @line. */
static const char *last(const char *line, const char *what)
{
	const char *found = NULL, *at = line;

	while ((at = strstr(at, what)))
		found = at++;
	return found;
}

/*
 * "  task-pid [cpu] flags seconds.microseconds: event: ..." A task may have the name of an event. The
 * event is the last one: its fields are numbers, hexadecimal digits, and words without colons.
 */
static void take(const char *line, double *now)
{
	const char *event = NULL, *at;
	size_t k, of = 0;

	for (k = 0; k < sizeof(handlers) / sizeof(handlers[0]); k++) {
		at = last(line, handlers[k].name);
		if (at && (!event || at > event)) {
			event = at;
			of = k;
		}
	}
	if (!event)
		return;
	for (at = event; at > line && at[-1] != ' '; at--)
		;
	*now = 1e6 * strtod(at, NULL);
	/* One blank stays, so that each key has one before it. */
	handlers[of].fn(event + strlen(handlers[of].name) - 1, *now);
}

/* Write all items that have not ended yet. */
static void flush_all(double now)
{
	struct item *i;
	size_t b;

	for (b = 0; b < BUCKETS; b++) {
		while ((i = t.bucket[b])) {
			if (i->kind == GROUP || i->kind == SUBMITTED || i->kind == TRACK) {
				if (i->kind == GROUP)
					name_group(i);
				else if (i->kind == SUBMITTED)
					put_submit(i);
				drop(i);
			} else {
				flush(i->kind, i->group, i->seq, now, "not yet");
			}
		}
	}
}

int timeline_write(FILE *in, FILE *out, const struct timeline_info *info)
{
	char *line = NULL;
	size_t room = 0;
	double now = 0;

	t = (struct timeline){ .out = out, .info = info };
	fputs("{\"traceEvents\":[\n", out);
	while (getline(&line, &room, in) > 0)
		take(line, &now);
	free(line);
	flush_all(now);
	fprintf(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"lost\":%llu}}\n", info->lost);
	return ferror(in) ? 1 : 0;
}

/* Lines of events get numbers of groups of their own. Return: events that are lost. */
static unsigned long long merge_one(FILE *in, FILE *out, unsigned long long host, bool *comma)
{
	unsigned long long group, lost = 0;
	char *line = NULL, *at;
	size_t room = 0, len;

	while (getline(&line, &room, in) > 0) {
		at = strstr(line, "\"lost\":");
		if (line[0] == ']' && at)
			lost = strtoull(at + 7, NULL, 10);
		if (strncmp(line, "{\"pid\":", 7))
			continue;
		group = strtoull(line + 7, &at, 10);
		len = strcspn(at, "\n");
		while (len && at[len - 1] == ',')
			len--;
		fprintf(out, "%s{\"pid\":%llu%.*s", *comma ? ",\n" : "", host * GROUPS + group,
			(int)len, at);
		*comma = true;
	}
	free(line);
	return lost;
}

int timeline_merge(char **files, FILE *out)
{
	unsigned long long lost = 0, host;
	bool comma = false;
	FILE *in;

	fputs("{\"traceEvents\":[\n", out);
	for (host = 0; files[host]; host++) {
		in = fopen(files[host], "re");
		if (!in) {
			perror(files[host]);
			return 1;
		}
		lost += merge_one(in, out, host, &comma);
		fclose(in);
	}
	fprintf(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"lost\":%llu}}\n", lost);
	return fflush(out) || ferror(out) ? 1 : 0;
}
