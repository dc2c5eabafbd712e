// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Reads files of tables. Every number in them is checked. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "net/auth.h"
#include "optable.h"
#include "select_env.h"
#include "select_file.h"

#define MAX_WORDS	8
/* Limits of the kernel: see struct coll_select_row. */
#define SEGMENT_UNIT	64
#define SEGMENT_MAX	(1 << 20)
/* Largest cost: a thousand seconds. */
#define COST_MAX	1000000000000000000ULL
#define FEMTO		1e15

/* The words of a line; they are not terminated. */
struct line {
	const char *word[MAX_WORDS];
	size_t len[MAX_WORDS];
	uint32_t nr;
};

static int __attribute__((format(printf, 2, 3)))
wrong(struct select_file *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Split a line, up to a comment. Words beyond the maximum are counted, but not stored. */
static void split_line(struct line *l, const char *s, const char *end)
{
	const char *begin;

	l->nr = 0;
	while (s < end && *s != '#') {
		if (is_blank(*s)) {
			s++;
			continue;
		}
		begin = s;
		while (s < end && !is_blank(*s) && *s != '#')
			s++;
		if (l->nr < MAX_WORDS) {
			l->word[l->nr] = begin;
			l->len[l->nr] = (size_t)(s - begin);
		}
		l->nr++;
	}
}

static bool is_word(const struct line *l, uint32_t i, const char *text)
{
	return i < l->nr && i < MAX_WORDS && l->len[i] == strlen(text) &&
	       !memcmp(l->word[i], text, l->len[i]);
}

/* Copy word @i as a string. Return: false: it is too long, or has a NUL byte. */
static bool copy_word(const struct line *l, uint32_t i, char *out, size_t size)
{
	if (l->len[i] >= size || memchr(l->word[i], 0, l->len[i]))
		return false;
	memcpy(out, l->word[i], l->len[i]);
	out[l->len[i]] = 0;
	return true;
}

static bool number(const struct line *l, uint32_t i, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;
	size_t k;

	for (k = 0; k < l->len[i]; k++) {
		char c = l->word[i][k];

		if (c < '0' || c > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(c - '0'), &v))
			return false;
	}
	*out = v;
	return v <= max;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool digest_word(const struct line *l, uint32_t i, struct select_key *key)
{
	size_t k;
	int a, b;

	key->any = is_word(l, i, "any");
	if (key->any)
		return true;
	if (l->len[i] != 2 * SELECT_HOST_LEN)
		return false;
	for (k = 0; k < SELECT_HOST_LEN; k++) {
		a = hex(l->word[i][2 * k]);
		b = hex(l->word[i][2 * k + 1]);
		if (a < 0 || b < 0)
			return false;
		key->digest[k] = (uint8_t)(a << 4 | b);
	}
	return true;
}

bool select_key_same(const struct select_key *a, const struct select_key *b)
{
	return a->any == b->any && a->nodes == b->nodes && a->ranks == b->ranks &&
	       !memcmp(a->digest, b->digest, sizeof(a->digest));
}

/* Are the tables of the last set complete? */
static int end_set(struct select_file *f)
{
	const struct select_tables *t = f->nr ? &f->sets[f->nr - 1].tables : NULL;
	uint32_t c;

	for (c = 0; t && c < COLL_NR_COLLECTIVES; c++)
		if (t->of[c].nr && t->of[c].rows[t->of[c].nr - 1].bytes != UINT64_MAX)
			return wrong(f, "rows of %s before this line do not go up to max",
				     coll_collective_name(c));
	return 0;
}

static int parse_hosts(struct select_file *f, const struct line *l, const char *begin)
{
	struct select_key key = { .any = false };
	uint64_t nodes, ranks;
	struct select_set *more;
	uint32_t i;

	if (l->nr != 6 || !is_word(l, 2, "nodes") || !is_word(l, 4, "ranks") ||
	    !digest_word(l, 1, &key) || !number(l, 3, COLL_MAX_SIZE, &nodes) || !nodes ||
	    !number(l, 5, COLL_MAX_SIZE, &ranks) || ranks < nodes)
		return wrong(f, "not \"hosts DIGEST|any nodes N ranks N\"");
	key.nodes = (uint32_t)nodes;
	key.ranks = (uint32_t)ranks;
	for (i = 0; i < f->nr; i++)
		if (select_key_same(&f->sets[i].key, &key))
			return wrong(f, "these hosts have tables in line %u already",
				     f->sets[i].line);
	if (end_set(f))
		return -EINVAL;
	if (f->nr == SELECT_FILE_SETS)
		return wrong(f, "more than %d sets of hosts", SELECT_FILE_SETS);
	more = realloc(f->sets, (f->nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->sets = more;
	memset(&more[f->nr], 0, sizeof(*more));
	more[f->nr].key = key;
	more[f->nr].line = f->line;
	more[f->nr++].begin = begin;
	return 0;
}

static int parse_costs(struct select_file *f, const struct line *l, struct select_set *set)
{
	struct select_model *m = &set->tables.model;
	double *const to[] = {
		&m->alpha, &m->overhead, &m->beta, &m->gamma, &m->busy_message, &m->busy_byte,
	};
	uint64_t v;
	uint32_t i;

	if (l->nr != 7)
		return wrong(f, "not \"costs\" and six numbers");
	if (m->beta > 0)
		return wrong(f, "these hosts have costs already");
	for (i = 0; i < 6; i++) {
		if (!number(l, i + 1, COST_MAX, &v))
			return wrong(f, "number %u of the costs is none, or too large", i + 1);
		*to[i] = (double)v / FEMTO;
	}
	/* If transfers cost nothing, the model cannot compare algorithms. */
	if (!(m->alpha > 0 && m->beta > 0))
		return wrong(f, "messages and bytes that cost nothing");
	return 0;
}

static uint32_t collective_of(const char *name)
{
	uint32_t c;

	for (c = 1; c < COLL_NR_COLLECTIVES; c++)
		if (coll_collective_name(c) && !strcmp(coll_collective_name(c), name))
			return c;
	return 0;
}

static int parse_row(struct select_file *f, const struct line *l, struct select_set *set)
{
	struct coll_select_row row = { .bytes = UINT64_MAX };
	char what[32], name[32];
	struct select_table *t;
	uint64_t segment = 0, bytes;
	uint32_t c;

	if (!copy_word(l, 0, what, sizeof(what)) || !(c = collective_of(what)))
		return wrong(f, "no collective begins this line");
	if (l->nr < 3 || l->nr > 4)
		return wrong(f, "not \"%s BYTES|max ALGORITHM [SEGMENT]\"", what);
	if (!is_word(l, 1, "max")) {
		if (!number(l, 1, UINT64_MAX - 1, &bytes))
			return wrong(f, "%s: the size is neither a number nor max", what);
		row.bytes = bytes;
	}
	if (!copy_word(l, 2, name, sizeof(name)))
		return wrong(f, "%s has no such algorithm", what);
	row.algorithm = select_number(c, name);
	if (!row.algorithm && strcmp(name, "auto"))
		return wrong(f, "%s has no algorithm \"%s\"", what, name);
	if (l->nr == 4 && (!number(l, 3, SEGMENT_MAX, &segment) || segment % SEGMENT_UNIT))
		return wrong(f, "%s: the segment is no multiple of %d up to %d", what,
			     SEGMENT_UNIT, SEGMENT_MAX);
	row.segment = (uint32_t)segment;
	t = &set->tables.of[c];
	if (t->nr && row.bytes <= t->rows[t->nr - 1].bytes)
		return wrong(f, "%s: sizes do not ascend", what);
	if (t->nr == SELECT_MAX_ROWS)
		return wrong(f, "%s: more than %d rows", what, SELECT_MAX_ROWS);
	t->source = COLL_SELECT_FILE;
	t->rows[t->nr++] = row;
	return 0;
}

static int parse_line(struct select_file *f, const char *s, const char *end)
{
	struct line l;

	split_line(&l, s, end);
	if (f->line == 1)
		return l.nr == 2 && is_word(&l, 0, "coll-tables") && is_word(&l, 1, "1") ? 0 :
		       wrong(f, "not \"coll-tables 1\": no tables, or of another version");
	if (!l.nr)
		return 0;
	if (is_word(&l, 0, "hosts"))
		return parse_hosts(f, &l, s);
	if (!f->nr)
		return wrong(f, "no line \"hosts\" before this one");
	if (is_word(&l, 0, "costs"))
		return parse_costs(f, &l, &f->sets[f->nr - 1]);
	return parse_row(f, &l, &f->sets[f->nr - 1]);
}

int select_file_parse(struct select_file *f, char *text, size_t len)
{
	const char *s = text, *all = text + len, *end;
	uint32_t i;
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->text = text;
	f->len = len;
	do {
		end = memchr(s, '\n', (size_t)(all - s));
		if (!end)
			end = all;
		f->line++;
		ret = parse_line(f, s, end);
		s = end < all ? end + 1 : all;
	} while (!ret && s < all);
	if (!ret)
		ret = end_set(f);
	for (i = 0; i < f->nr; i++)
		f->sets[i].len = (size_t)((i + 1 < f->nr ? f->sets[i + 1].begin : all) -
					  f->sets[i].begin);
	return ret;
}

/* Return: a descriptor or -errno. */
static int open_regular(const char *path)
{
	/* The file is read twice. And open() of a FIFO would wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode))
		ret = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int select_file_read(struct select_file *f, const char *path)
{
	int fd = open_regular(path), ret;
	ssize_t n = 0;
	size_t len = 0;
	char *text;

	memset(f, 0, sizeof(*f));
	if (fd < 0)
		return fd;
	text = malloc(SELECT_FILE_MAX + 1);
	while (text && len <= SELECT_FILE_MAX &&
	       (n = read(fd, text + len, SELECT_FILE_MAX + 1 - len)) > 0)
		len += (size_t)n;
	ret = !text ? -ENOMEM : n < 0 ? -errno : len > SELECT_FILE_MAX ? -EFBIG : 0;
	close(fd);
	if (ret) {
		free(text);
		return ret;
	}
	return select_file_parse(f, text, len);
}

void select_file_free(struct select_file *f)
{
	free(f->sets);
	free(f->text);
	f->sets = NULL;
	f->text = NULL;
	f->nr = 0;
}

const struct select_set *select_file_find(const struct select_file *f,
					  const struct select_key *key)
{
	struct select_key any = { .any = true, .nodes = key->nodes, .ranks = key->ranks };
	const struct select_set *found = NULL;
	uint32_t i;

	for (i = 0; i < f->nr; i++) {
		if (select_key_same(&f->sets[i].key, key))
			return &f->sets[i];
		if (select_key_same(&f->sets[i].key, &any))
			found = &f->sets[i];
	}
	return found;
}

struct host_ranks {
	uint8_t id[SELECT_HOST_LEN];
	uint8_t ranks[4];
};

static int cmp_host(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct host_ranks));
}

int select_key_of(const struct select_host *hosts, const uint32_t *ranks_on, uint32_t nodes,
		  struct select_key *key)
{
	struct host_ranks *all = calloc(nodes, sizeof(*all));
	uint8_t digest[AUTH_LEN];
	uint32_t i;
	int ret;

	if (!all)
		return -ENOMEM;
	memset(key, 0, sizeof(*key));
	key->nodes = nodes;
	for (i = 0; i < nodes; i++) {
		memcpy(all[i].id, hosts[i].id, sizeof(all[i].id));
		put_le32(all[i].ranks, ranks_on[i]);
		key->ranks += ranks_on[i];
	}
	qsort(all, nodes, sizeof(*all), cmp_host);
	ret = auth_sha256(all, nodes * sizeof(*all), digest);
	memcpy(key->digest, digest, sizeof(key->digest));
	free(all);
	return ret;
}
