// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Rows of numbers. */
#define _GNU_SOURCE	/* strtod_l() */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "csv_parse.h"

/* Spreadsheets write it at the beginning of a file. */
#define BYTE_ORDER_MARK	"\xef\xbb\xbf"

/**
 * struct cursor - a place in the text
 * @s: next byte; @end: the end of the line, where its CR or LF is, or the part's NUL
 * @numbers: a locale in which the decimal separator is a point
 */
struct cursor {
	char *s, *end;
	char separator;
	uint64_t line;
	uint32_t column;
	locale_t numbers;
};

uint32_t csv_columns(const struct csv_part *p, char separator)
{
	uint32_t n = 1;
	const char *s;

	for (s = p->text; s && s < p->text + p->len && *s != '\n'; s++)
		n += *s == separator;
	return n;
}

__attribute__((format(printf, 3, 4)))
static int wrong(struct csv_part *p, const struct cursor *c, const char *fmt, ...)
{
	char what[80];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	p->error = -EINVAL;
	p->bad_line = c->line;
	snprintf(p->why, sizeof(p->why), "line %llu, column %u: %s",
		 (unsigned long long)c->line, c->column, what);
	return -EINVAL;
}

/* One field, decimal: strtod() alone would take hexadecimal numbers, "nan", "inf". */
static int field(struct csv_part *p, struct cursor *c, double *x)
{
	char *from = c->s, *to, *end;

	while (from < c->end && *from != c->separator && (*from == ' ' || *from == '\t'))
		from++;
	for (to = from; to < c->end && *to != c->separator; to++)
		;
	c->s = to;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	if (to == from)
		return wrong(p, c, "nothing there");
	if (strspn(from, "0123456789+-.eE") < (size_t)(to - from))
		return wrong(p, c, "'%.*s' is no number", (int)(to - from > 40 ? 40 : to - from),
			     from);
	*x = strtod_l(from, &end, c->numbers);
	if (end != to)
		return wrong(p, c, "'%.*s' is no number", (int)(to - from > 40 ? 40 : to - from),
			     from);
	if (!isfinite(*x))
		return wrong(p, c, "'%.*s' is too large", (int)(to - from > 40 ? 40 : to - from),
			     from);
	return 0;
}

static int row(struct csv_part *p, struct cursor *c, uint32_t columns, double *x)
{
	c->column = 1;
	if (c->s == c->end)
		return wrong(p, c, "an empty line");
	for (;; c->column++, c->s++) {
		if (c->column > columns)
			return wrong(p, c, "more than %u columns", columns);
		if (field(p, c, &x[c->column - 1]))
			return -EINVAL;
		if (c->s == c->end)
			break;
	}
	if (c->column < columns)
		return wrong(p, c, "the line ends, but there should be %u columns", columns);
	return 0;
}

void csv_parse(struct csv_part *p, char separator, uint32_t columns, double *x)
{
	struct cursor c = { .s = p->text, .separator = separator, .line = p->first_line };
	char *stop = p->text + p->len, *end;
	uint64_t i;

	if (!p->rows)
		return;
	c.numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c.numbers) {
		wrong(p, &c, "no memory");
		p->error = -ENOMEM;
		return;
	}
	if (p->first_line == 1 && !strncmp(c.s, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		c.s += strlen(BYTE_ORDER_MARK);
	for (i = 0; i < p->rows; i++, c.line++) {
		end = memchr(c.s, '\n', (size_t)(stop - c.s));
		if (!end)
			end = stop;
		c.end = end > c.s && end[-1] == '\r' ? end - 1 : end;
		if (row(p, &c, columns, x + i * columns))
			break;
		c.s = end < stop ? end + 1 : stop;
	}
	freelocale(c.numbers);
}
