// SPDX-License-Identifier: GPL-2.0
/*
 * Our own stdout and stderr. Their readers may stop reading, so that a write() would wait for ever,
 * and with it the timeout and the signals of the job. What cannot be written yet stays here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collrun.h"

#define SINK_BYTES	(128 << 10)

/**
 * struct sink - where output goes
 * @socket: @fd is one
 * @error: errno of a write; from then on the output is dropped
 * @at: offset in @buf of the @len bytes that are to be written
 */
struct sink {
	int fd;
	bool socket;
	int error;
	size_t at, len;
	char buf[SINK_BYTES];
};

static struct sink sinks[2];
/* One sink for both if they are the same file: lines keep their order, and stay whole. */
static struct sink *out = &sinks[0], *err = &sinks[1];
static uint64_t written;

static struct sink *sink_of(int fd)
{
	return fd == 1 ? out : err;
}

/* The master of a pseudo-terminal does not count: it cannot be opened again. */
static bool is_terminal(int fd)
{
	unsigned int number;

	return isatty(fd) && ioctl(fd, TIOCGPTN, &number);
}

/*
 * Pipes and terminals are opened again: O_NONBLOCK is then ours alone, and not of the processes
 * with which we share the descriptor. If that is not allowed, we rely on poll(): a pipe with
 * POLLOUT takes PIPE_BUF bytes. But a write may wait if another process fills the pipe first.
 */
static void sink_open(struct sink *k, int fd, const struct stat *st)
{
	char path[32];
	int own;

	k->fd = fd;
	k->socket = S_ISSOCK(st->st_mode);
	if (!S_ISFIFO(st->st_mode) && !is_terminal(fd))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0)
		k->fd = own;
}

void sinks_open(void)
{
	struct stat a = { 0 }, b = { 0 };
	bool both = !fstat(1, &a);

	both &= !fstat(2, &b);
	sink_open(out, 1, &a);
	if (both && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		err = out;
	else
		sink_open(err, 2, &b);
}

/* Bytes of the next write: whole lines if possible, as other processes may write there, too. */
static size_t next_piece(const struct sink *k)
{
	const char *from = k->buf + k->at, *end;

	if (k->len <= PIPE_BUF)
		return k->len;
	end = memrchr(from, '\n', PIPE_BUF);
	return end ? (size_t)(end - from) + 1 : PIPE_BUF;
}

/* One write. Return: false: the sink takes nothing now. */
static bool write_piece(struct sink *k)
{
	struct pollfd p = { .fd = k->fd, .events = POLLOUT };
	const char *from = k->buf + k->at;
	ssize_t n;

	if (poll(&p, 1, 0) <= 0)
		return false;
	if (k->socket)
		n = send(k->fd, from, next_piece(k), MSG_DONTWAIT);
	else
		n = write(k->fd, from, next_piece(k));
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN) {
		/* There is room, but not enough for it: poll() would return at once. */
		poll(NULL, 0, 1);
		return false;
	}
	if (n < 0) {
		k->error = errno;
		k->len = 0;
		return false;
	}
	k->at += (size_t)n;
	k->len -= (size_t)n;
	written += (size_t)n;
	return true;
}

static void sink_flush(struct sink *k)
{
	while (k->len && write_piece(k))
		;
	if (!k->len)
		k->at = 0;
}

void sinks_flush(void)
{
	sink_flush(out);
	sink_flush(err);
}

uint64_t sinks_written(void)
{
	return written;
}

bool sinks_empty(void)
{
	return !out->len && !err->len;
}

bool sink_failed(int fd)
{
	return sink_of(fd)->error;
}

/* Keep the waiting output short: a slow reader has to read it before collrun can end. */
bool sink_has_room(int fd, size_t len)
{
	size_t waiting = sink_of(fd)->len;

	return waiting <= PIPE_BUF && SINK_BYTES - waiting >= len;
}

void sink_put(int fd, const char *text, size_t len)
{
	struct sink *k = sink_of(fd);

	if (k->error || SINK_BYTES - k->len < len)
		return;
	if (SINK_BYTES - k->at - k->len < len) {
		memmove(k->buf, k->buf + k->at, k->len);
		k->at = 0;
	}
	memcpy(k->buf + k->at + k->len, text, len);
	k->len += len;
}

size_t sinks_polled(struct pollfd *p)
{
	size_t n = 0;

	if (out->len)
		p[n++] = (struct pollfd){ .fd = out->fd, .events = POLLOUT };
	if (err != out && err->len)
		p[n++] = (struct pollfd){ .fd = err->fd, .events = POLLOUT };
	return n;
}

void say(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	sink_put(2, "collrun: ", strlen("collrun: "));
	sink_put(2, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	sink_put(2, "\n", 1);
	sinks_flush();
}
