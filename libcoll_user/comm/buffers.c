// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Registered buffers, and their use for commands that do not name them. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "buffers.h"
#include "collective.h"
#include "optable.h"

struct buffer {
	struct buffer *next;
	uint64_t addr;
	uint64_t len;
	uint32_t id;
	bool writable;
};

#define REGISTERED	(COLL_CMD_REG_SEND | COLL_CMD_REG_RECV)

/* How often a communicator of this process has got or lost a buffer. */
static _Atomic uint64_t changes = 1;

/*
 * The last collective of this thread whose buffers were looked for, and what was found. Programs
 * repeat their commands, and a small one takes less time than to look for its buffers.
 */
static _Thread_local struct {
	uint64_t changes;
	const coll_comm_t *comm;
	struct coll_cmd cmd;
} last;

int coll_register_buffer(coll_comm_t *comm, void *addr, size_t len, uint32_t flags,
			 uint32_t *id)
{
	struct coll_register r = {
		.addr = (uint64_t)(uintptr_t)addr,
		.len = len,
		.flags = flags,
	};
	struct buffer *b;
	int ret;

	if (!comm || !id)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	if (ioctl(comm->fd, COLL_IOC_REGISTER, &r)) {
		ret = -errno;
		free(b);
		return ret;
	}
	b->addr = r.addr;
	b->len = len;
	b->id = r.id;
	b->writable = flags & COLL_REG_WRITE;
	pthread_mutex_lock(&comm->buffers_lock);
	b->next = comm->buffers;
	comm->buffers = b;
	changes++;
	pthread_mutex_unlock(&comm->buffers_lock);
	*id = r.id;
	return 0;
}

int coll_unregister_buffer(coll_comm_t *comm, uint32_t id)
{
	struct coll_unregister u = { .id = id };
	struct buffer **p, *b = NULL;

	if (!comm)
		return -EINVAL;
	if (comm_is_forked(comm))
		return -EPERM;
	pthread_mutex_lock(&comm->buffers_lock);
	for (p = &comm->buffers; *p; p = &(*p)->next) {
		if ((*p)->id == id) {
			b = *p;
			*p = b->next;
			changes++;
			break;
		}
	}
	pthread_mutex_unlock(&comm->buffers_lock);
	if (!b)
		return -ENOENT;
	free(b);
	return ioctl(comm->fd, COLL_IOC_UNREGISTER, &u) ? -errno : 0;
}

/* Does a buffer hold all of [addr, addr + len)? */
static bool holds(const struct buffer *b, uint64_t addr, uint64_t len, bool write)
{
	return addr >= b->addr && addr - b->addr <= b->len &&
	       len <= b->len - (addr - b->addr) && (b->writable || !write);
}

/* A buffer that holds all of it, or NULL; lock held. */
static const struct buffer *find(const coll_comm_t *comm, uint64_t addr, uint64_t len,
				 bool write)
{
	const struct buffer *b;

	for (b = comm->buffers; b; b = b->next)
		if (holds(b, addr, len, write))
			return b;
	return NULL;
}

/* Does the buffer with this id hold all of it? Lock held. */
static bool holds_by_id(const coll_comm_t *comm, uint32_t id, uint64_t addr, uint64_t len,
			bool write)
{
	const struct buffer *b;

	for (b = comm->buffers; b; b = b->next)
		if (b->id == id)
			return len && holds(b, addr, len, write);
	return false;
}

/* Bytes that a message sends, or may receive. */
static uint64_t message_length(const struct coll_cmd *cmd, bool out)
{
	bool both = cmd->collective == COLL_SENDRECV;
	uint64_t len = coll_dtype_size(out && both ? cmd->recv_dtype : cmd->dtype);

	if (__builtin_mul_overflow(out && both ? cmd->recv_count : cmd->count, len, &len))
		return 0;
	return len;
}

/* Bytes of a buffer of @cmd on this rank; 0: there is none, or @cmd has counts. */
static uint64_t length(const coll_comm_t *comm, const struct coll_cmd *cmd, bool out)
{
	const struct coll_kind *k = coll_kind_of(cmd->collective);
	bool root = k->flags & COLL_KIND_ROOTED && cmd->root == comm->rank;
	uint8_t in_has = root ? k->root_in : k->in, out_has = root ? k->root_out : k->out;
	uint64_t len = coll_dtype_size(cmd->dtype), blocks = 1;

	if (coll_is_message(cmd->collective))
		return message_length(cmd, out);
	if (k->flags & COLL_KIND_COUNTS)
		return 0;
	/* In place, both buffers have the longer one of the two lengths. */
	if (cmd->flags & COLL_CMD_INPLACE)
		in_has = out_has = in_has > out_has ? in_has : out_has;
	if ((out ? out_has : in_has) == COLL_HAS_ALL && k->flags & COLL_KIND_BLOCKS)
		blocks = comm->size;
	if (__builtin_mul_overflow(cmd->count, len, &len) ||
	    __builtin_mul_overflow(blocks, len, &len))
		return 0;
	return len;
}

/* Does @cmd have the buffers of the last collective, and are the registered ones unchanged? */
static bool is_last(const coll_comm_t *comm, const struct coll_cmd *cmd)
{
	const struct coll_cmd *c = &last.cmd;

	return last.comm == comm && last.changes == changes && c->send_addr == cmd->send_addr &&
	       c->recv_addr == cmd->recv_addr && c->count == cmd->count &&
	       c->collective == cmd->collective && c->dtype == cmd->dtype &&
	       c->root == cmd->root && !((c->flags ^ cmd->flags) & COLL_CMD_INPLACE);
}

static void look_up(coll_comm_t *comm, struct coll_cmd *cmd)
{
	uint64_t in = cmd->send_addr ? length(comm, cmd, false) : 0;
	uint64_t out = cmd->recv_addr ? length(comm, cmd, true) : 0;
	bool same = in && in == out && cmd->send_addr == cmd->recv_addr;
	const struct buffer *b;

	pthread_mutex_lock(&comm->buffers_lock);
	/* The kernel takes equal addresses for in place only if both are in one buffer, or in none. */
	b = in ? find(comm, cmd->send_addr, in, same) : NULL;
	if (b) {
		cmd->flags |= COLL_CMD_REG_SEND;
		cmd->send_buf = b->id;
	}
	b = out ? find(comm, cmd->recv_addr, out, true) : NULL;
	if (b) {
		cmd->flags |= COLL_CMD_REG_RECV;
		cmd->recv_buf = b->id;
	}
	pthread_mutex_unlock(&comm->buffers_lock);
}

void buffers_apply(coll_comm_t *comm, struct coll_cmd *cmd)
{
	uint64_t before = changes;

	/* No lock: after a stale read the buffer counts as registered a moment later. */
	if (!comm || !__atomic_load_n(&comm->buffers, __ATOMIC_RELAXED) || comm_is_forked(comm))
		return;
	if (is_last(comm, cmd)) {
		cmd->flags |= last.cmd.flags & REGISTERED;
		cmd->send_buf = last.cmd.send_buf;
		cmd->recv_buf = last.cmd.recv_buf;
		return;
	}
	look_up(comm, cmd);
	if (coll_is_message(cmd->collective))
		return;
	last.changes = before;
	last.comm = comm;
	last.cmd = *cmd;
}

/* Does the last collective name the same registered buffers? Then they hold the memory of @cmd. */
static bool last_names(const struct coll_cmd *cmd)
{
	return !((last.cmd.flags ^ cmd->flags) & REGISTERED) &&
	       last.cmd.send_buf == cmd->send_buf && last.cmd.recv_buf == cmd->recv_buf;
}

bool buffers_hold(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	uint64_t in, out;
	bool held = true;

	if (is_last(comm, cmd) && last_names(cmd))
		return true;
	in = length(comm, cmd, false);
	out = length(comm, cmd, true);
	pthread_mutex_lock(&comm->buffers_lock);
	if (cmd->flags & COLL_CMD_REG_SEND)
		held = holds_by_id(comm, cmd->send_buf, cmd->send_addr, in, false);
	if (held && cmd->flags & COLL_CMD_REG_RECV)
		held = holds_by_id(comm, cmd->recv_buf, cmd->recv_addr, out, true);
	pthread_mutex_unlock(&comm->buffers_lock);
	return held;
}

uint64_t buffers_now(const struct coll_cmd *cmd)
{
	return cmd->flags & REGISTERED ? changes : 0;
}

uint64_t buffers_as_of(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	uint64_t now = buffers_now(cmd);

	return now && buffers_hold(comm, cmd) ? now : 0;
}

void buffers_renew(coll_comm_t *comm, struct coll_cmd *cmd, uint64_t *as_of)
{
	uint64_t now = changes;

	if (!*as_of || *as_of == now)
		return;
	*as_of = now;
	cmd->flags &= ~(uint32_t)REGISTERED;
	cmd->send_buf = 0;
	cmd->recv_buf = 0;
	buffers_apply(comm, cmd);
}

void buffers_free(coll_comm_t *comm)
{
	struct buffer *b;

	while ((b = comm->buffers)) {
		comm->buffers = b->next;
		changes++;
		free(b);
	}
}
