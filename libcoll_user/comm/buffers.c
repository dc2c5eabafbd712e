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

/* Bytes of a buffer of this rank; 0: it has none, or counts of its own. */
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

void buffers_apply(coll_comm_t *comm, struct coll_cmd *cmd)
{
	uint64_t in, out;
	const struct buffer *b;

	/* No lock: after a stale read the buffer counts as registered a moment later. */
	if (!comm || !__atomic_load_n(&comm->buffers, __ATOMIC_RELAXED) || comm_is_forked(comm))
		return;
	in = cmd->send_addr ? length(comm, cmd, false) : 0;
	out = cmd->recv_addr ? length(comm, cmd, true) : 0;
	pthread_mutex_lock(&comm->buffers_lock);
	b = in ? find(comm, cmd->send_addr, in, false) : NULL;
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

bool buffers_hold(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	uint64_t in = length(comm, cmd, false), out = length(comm, cmd, true);
	bool held = true;

	pthread_mutex_lock(&comm->buffers_lock);
	if (cmd->flags & COLL_CMD_REG_SEND)
		held = holds_by_id(comm, cmd->send_buf, cmd->send_addr, in, false);
	if (held && cmd->flags & COLL_CMD_REG_RECV)
		held = holds_by_id(comm, cmd->recv_buf, cmd->recv_addr, out, true);
	pthread_mutex_unlock(&comm->buffers_lock);
	return held;
}

void buffers_free(coll_comm_t *comm)
{
	struct buffer *b;

	while ((b = comm->buffers)) {
		comm->buffers = b->next;
		free(b);
	}
}
