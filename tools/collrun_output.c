// SPDX-License-Identifier: GPL-2.0
/* Whole lines of many ranks, each with its rank before it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collrun.h"

#define LINE_MAX_BYTES	8192	/* longer lines come in pieces */
#define RANK_BYTES	16	/* "[rank] " and the end of a line */
/* One read brings this at most: each byte may be an empty line, which becomes "[1023] \n". */
#define READ_MAX_BYTES	(9 * LINE_MAX_BYTES)

/**
 * struct stream - stdout or stderr of a rank
 * @fd: -1: at its end
 * @to: 1 or 2, our own
 * @ending: the rank is over, and @left bytes are still to be read
 * @len: bytes in @line, which is not complete
 */
struct stream {
	int fd;
	int to;
	int rank;
	bool ending;
	size_t left;
	size_t len;
	char line[LINE_MAX_BYTES];
};

/**
 * struct output - of all ranks
 * @nr: number of @streams: two for each rank
 * @first: the stream that is served first: the last time our own output was full then
 */
struct output {
	int nr;
	int first;
	struct stream *streams;
};

struct output *output_create(int ranks)
{
	struct output *o = calloc(1, sizeof(*o));
	int i;

	if (!o)
		return NULL;
	o->nr = 2 * ranks;
	o->streams = calloc((size_t)o->nr, sizeof(*o->streams));
	if (!o->streams)
		return NULL;
	for (i = 0; i < o->nr; i++) {
		o->streams[i].fd = -1;
		o->streams[i].to = 1 + i % 2;
		o->streams[i].rank = i / 2;
	}
	return o;
}

int output_pipes(struct output *o, int rank, int fds[2])
{
	int i, p[2];

	for (i = 0; i < 2; i++) {
		if (pipe2(p, O_CLOEXEC))
			return -1;
		fcntl(p[0], F_SETFL, O_NONBLOCK);
		o->streams[2 * rank + i].fd = p[0];
		fds[i] = p[1];
	}
	return 0;
}

static bool can_take(const struct stream *s)
{
	return s->fd >= 0 && sink_has_room(s->to, READ_MAX_BYTES);
}

size_t output_polled(struct output *o, struct pollfd *p)
{
	size_t n = 0;
	int i;

	for (i = 0; i < o->nr; i++)
		if (can_take(&o->streams[i]))
			p[n++] = (struct pollfd){ .fd = o->streams[i].fd, .events = POLLIN };
	return n;
}

static void print_line(const struct stream *s, size_t len)
{
	char out[LINE_MAX_BYTES + RANK_BYTES];
	int n = snprintf(out, sizeof(out), "[%d] ", s->rank);

	memcpy(out + n, s->line, len);
	out[(size_t)n + len] = '\n';
	sink_put(s->to, out, (size_t)n + len + 1);
}

/* Print the whole lines there are, and keep the rest. */
static void split(struct stream *s)
{
	char *end;
	size_t len;

	while ((end = memchr(s->line, '\n', s->len))) {
		len = (size_t)(end - s->line);
		print_line(s, len);
		s->len -= len + 1;
		memmove(s->line, end + 1, s->len);
	}
	if (s->len == sizeof(s->line)) {
		print_line(s, s->len);
		s->len = 0;
	}
}

static void close_stream(struct stream *s)
{
	close(s->fd);
	s->fd = -1;
	if (s->len)
		print_line(s, s->len);
	s->len = 0;
}

/* One read, as some ranks write without end. */
static void pump_stream(struct stream *s)
{
	ssize_t n;

	do
		n = read(s->fd, s->line + s->len, sizeof(s->line) - s->len);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		s->len += (size_t)n;
		s->left -= (size_t)n < s->left ? (size_t)n : s->left;
		split(s);
	} else if (!n || errno != EAGAIN) {
		close_stream(s);
	} else {
		s->left = 0;
	}
}

void output_pump(struct output *o)
{
	int i, full = -1;

	for (i = 0; i < o->nr; i++) {
		struct stream *s = &o->streams[(o->first + i) % o->nr];

		if (s->fd < 0)
			continue;
		if (!can_take(s) && full < 0)
			sinks_flush();
		if (!can_take(s)) {
			full = full < 0 ? (o->first + i) % o->nr : full;
			continue;
		}
		if (!s->ending || s->left)
			pump_stream(s);
		if (s->fd >= 0 && s->ending && !s->left)
			close_stream(s);
	}
	if (full >= 0)
		o->first = full;
}

/* Note how much each pipe holds by now: a process that is no rank may have it, and write on. */
void output_end(struct output *o)
{
	int i, there;

	for (i = 0; i < o->nr; i++) {
		struct stream *s = &o->streams[i];

		there = 0;
		if (s->fd >= 0)
			ioctl(s->fd, FIONREAD, &there);
		s->left = (size_t)there;
		s->ending = true;
	}
}

bool output_over(const struct output *o)
{
	int i;

	for (i = 0; i < o->nr; i++)
		if (o->streams[i].fd >= 0)
			return false;
	return true;
}
