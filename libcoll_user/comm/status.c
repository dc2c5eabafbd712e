// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The state of a communicator in the kernel, and texts about it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "comm.h"

int coll_comm_status(coll_comm_t *comm, struct coll_status *st)
{
	if (!comm || !st)
		return -EINVAL;
	return ioctl(comm->fd, COLL_IOC_STATUS, st) ? -errno : 0;
}

int coll_device_version(coll_comm_t *comm, struct coll_version *v)
{
	if (!comm || !v)
		return -EINVAL;
	*v = comm->version;
	return 0;
}

/* A line under construction; @len may grow past @size, as with snprintf. */
struct line {
	char *buf;
	size_t size;
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static void add(struct line *l, const char *fmt, ...)
{
	size_t room = l->len < l->size ? l->size - l->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? l->buf + l->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->len += (size_t)n;
}

static void add_who(struct line *l, const struct coll_cause *c)
{
	if (c->rank != COLL_RANK_NONE)
		add(l, "rank %u", c->rank);
	else if (c->node != COLL_RANK_NONE)
		add(l, "node %u", c->node);
	else
		add(l, "an unknown rank");
	if (c->pid)
		add(l, " (pid %u)", c->pid);
	if (c->host[0])
		add(l, " on %.*s", (int)sizeof(c->host), (const char *)c->host);
}

static void add_what(struct line *l, const struct coll_cause *c)
{
	switch (c->kind) {
	case COLL_CAUSE_EXIT:
		if (c->signal)
			add(l, " was ended by signal %u", c->signal);
		else
			add(l, " ended with status %u", c->code);
		break;
	case COLL_CAUSE_CLOSE:
		add(l, " left");
		break;
	case COLL_CAUSE_LINK:
		add(l, " is not reachable any more: %s",
		    c->code ? coll_strerror((int)c->code) : "connection closed");
		break;
	case COLL_CAUSE_PROTO:
		add(l, " sent malformed or unexpected bytes");
		break;
	case COLL_CAUSE_MISMATCH:
		add(l, " disagrees about the operation");
		break;
	case COLL_CAUSE_TIMEOUT:
		add(l, " was late: the deadline passed");
		break;
	case COLL_CAUSE_ABORT:
		add(l, " aborted the communicator, code %u", c->code);
		break;
	case COLL_CAUSE_MEMORY:
		add(l, " lost a buffer or ran out of memory");
		break;
	case COLL_CAUSE_CANCEL:
		add(l, " had an operation cancelled");
		break;
	default:
		add(l, ": cause %u", c->kind);
		break;
	}
}

int coll_cause_str(const struct coll_cause *c, char *buf, size_t len)
{
	struct line l = { buf, len, 0 };

	if (!c || (len && !buf))
		return -EINVAL;
	if (len)
		buf[0] = '\0';
	if (c->kind == COLL_CAUSE_NONE) {
		add(&l, "no failure");
		return (int)l.len;
	}
	add_who(&l, c);
	add_what(&l, c);
	if (c->seq)
		add(&l, ", operation %llu", (unsigned long long)c->seq);
	return (int)l.len;
}
