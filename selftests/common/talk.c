// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <time.h>

#include "talk.h"

int talk_start(struct talk *t, uint32_t size, uint32_t nodes)
{
	int ret = raw_start(&t->c, size, nodes);
	uint32_t r;

	for (r = 0; !ret && r < size; r++)
		ret = io_uring_queue_init(8, &t->r[r].ring, 0);
	talk_again(t);
	return ret;
}

void talk_stop(struct talk *t)
{
	uint32_t r;

	for (r = 0; r < t->c.size; r++)
		io_uring_queue_exit(&t->r[r].ring);
	raw_stop(&t->c);
}

void talk_again(struct talk *t)
{
	uint32_t r;

	for (r = 0; r < t->c.size; r++) {
		t->r[r].posted = 0;
		memset(t->r[r].over, 0, sizeof(t->r[r].over));
	}
}

unsigned int talk_post(struct talk *t, uint32_t rank, const struct coll_cmd *cmd)
{
	struct talk_rank *k = &t->r[rank];
	unsigned int nr = k->posted++;

	if (nr >= TALK_CMDS)
		__builtin_trap();
	k->cmd[nr] = *cmd;
	k->cmd[nr].handle = nr + 1;
	ring_prep(io_uring_get_sqe(&k->ring), t->c.fd[rank], &k->cmd[nr], nr);
	if (io_uring_submit(&k->ring) != 1)
		__builtin_trap();
	return nr;
}

/* Take CQEs until command @nr is over, or none comes for that time. */
static void take(struct talk_rank *k, unsigned int nr, struct __kernel_timespec wait)
{
	struct io_uring_cqe *cqe;

	while (!k->over[nr] && !io_uring_wait_cqe_timeout(&k->ring, &cqe, &wait)) {
		/* one CQE for each command, and only for commands that were posted */
		if (cqe->user_data >= k->posted || k->over[cqe->user_data])
			__builtin_trap();
		k->over[cqe->user_data] = true;
		k->result[cqe->user_data] = cqe->res;
		io_uring_cqe_seen(&k->ring, cqe);
	}
}

int talk_result(struct talk *t, uint32_t rank, unsigned int nr)
{
	struct talk_rank *k = &t->r[rank];

	take(k, nr, (struct __kernel_timespec){ .tv_sec = 10 });
	return k->over[nr] ? k->result[nr] : -ETIME;
}

bool talk_pending(struct talk *t, uint32_t rank, unsigned int nr)
{
	take(&t->r[rank], nr, (struct __kernel_timespec){ .tv_nsec = 20000000 });
	return !t->r[rank].over[nr];
}

int talk_cancel(struct talk *t, uint32_t rank, unsigned int nr)
{
	return raw_cancel(t->c.fd[rank], nr + 1);
}

unsigned int talk_send(struct talk *t, uint32_t from, uint32_t to, uint32_t tag,
		       const void *buf, uint64_t bytes)
{
	struct coll_cmd cmd;

	raw_send(&cmd, buf, bytes, COLL_BYTE, to, tag);
	return talk_post(t, from, &cmd);
}

unsigned int talk_recv(struct talk *t, uint32_t to, uint32_t from, uint32_t tag,
		       void *buf, uint64_t bytes, struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_recv(&cmd, buf, bytes, COLL_BYTE, from, tag, got);
	return talk_post(t, to, &cmd);
}
