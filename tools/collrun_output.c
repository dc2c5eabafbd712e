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

struct stream {
	int fd;			/* -1: at its end */
	FILE *to;
	int rank;
	size_t len;
	char line[LINE_MAX_BYTES];
};

struct output {
	int ranks;
	struct stream *streams;	/* stdout and stderr of each rank */
	struct pollfd *polled;
};

struct output *output_create(int ranks)
{
	struct output *o = calloc(1, sizeof(*o));
	int i;

	if (!o)
		return NULL;
	o->ranks = ranks;
	o->streams = calloc((size_t)ranks * 2, sizeof(*o->streams));
	o->polled = calloc((size_t)ranks * 2, sizeof(*o->polled));
	if (!o->streams || !o->polled)
		return NULL;
	for (i = 0; i < 2 * ranks; i++) {
		o->streams[i].fd = -1;
		o->streams[i].to = i % 2 ? stderr : stdout;
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

const struct pollfd *output_polled(struct output *o, size_t *n)
{
	int i;

	*n = 0;
	for (i = 0; i < 2 * o->ranks; i++)
		if (o->streams[i].fd >= 0)
			o->polled[(*n)++] = (struct pollfd){
				.fd = o->streams[i].fd, .events = POLLIN
			};
	return o->polled;
}

static void print_line(const struct stream *s, size_t len)
{
	char out[LINE_MAX_BYTES + 16];
	int n = snprintf(out, sizeof(out), "[%d] ", s->rank);

	memcpy(out + n, s->line, len);
	out[(size_t)n + len] = '\n';
	fwrite(out, (size_t)n + len + 1, 1, s->to);
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

/* One read, as some ranks write without end. Return: bytes; 0: none, for now or for ever. */
static size_t pump_stream(struct stream *s)
{
	ssize_t n;

	do
		n = read(s->fd, s->line + s->len, sizeof(s->line) - s->len);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		s->len += (size_t)n;
		split(s);
		return (size_t)n;
	}
	if (!n || errno != EAGAIN)
		close_stream(s);
	return 0;
}

/* What is there by now: somebody who is no rank may have the pipe, and write on. */
static void drain_stream(struct stream *s)
{
	int there = 0;
	size_t left, n;

	ioctl(s->fd, FIONREAD, &there);
	for (left = (size_t)there; left && (n = pump_stream(s)); left -= n < left ? n : left)
		;
	if (s->fd >= 0)
		close_stream(s);
}

bool output_pump(struct output *o, bool final)
{
	int i;

	for (i = 0; i < 2 * o->ranks; i++) {
		struct stream *s = &o->streams[i];

		if (s->fd < 0)
			continue;
		if (final)
			drain_stream(s);
		else
			pump_stream(s);
	}
	fflush(stdout);
	fflush(stderr);
	return !ferror(stdout);
}
