/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of several ranks from one thread: each rank has a ring, and commands that
 * are posted in the order of the calls.
 */
#ifndef COLL_SELFTESTS_TALK_H
#define COLL_SELFTESTS_TALK_H

#include "raw.h"
#include "ring.h"

#define TALK_RANKS	8
#define TALK_CMDS	256

/**
 * struct talk_rank - one rank
 * @ring: its ring
 * @cmd: commands by number
 * @posted: number of commands posted
 * @over: commands whose result has been seen
 * @result: results of these
 */
struct talk_rank {
	struct io_uring ring;
	struct coll_cmd cmd[TALK_CMDS];
	unsigned int posted;
	bool over[TALK_CMDS];
	int result[TALK_CMDS];
};

struct talk {
	struct raw_comm c;
	struct talk_rank r[TALK_RANKS];
};

/* Make a communicator, and rings. Return: 0 or -errno. */
int talk_start(struct talk *t, uint32_t size, uint32_t nodes);
void talk_stop(struct talk *t);
/* Forget all commands; all are over. */
void talk_again(struct talk *t);
/* Post a command. Return: its number. */
unsigned int talk_post(struct talk *t, uint32_t rank, const struct coll_cmd *cmd);
/* Result of a command; -ETIME if there is none for ten seconds. */
int talk_result(struct talk *t, uint32_t rank, unsigned int nr);
/* COLL_IOC_CANCEL of it: 0 or -errno. */
int talk_cancel(struct talk *t, uint32_t rank, unsigned int nr);
/* Is it still pending, also after a moment? */
bool talk_pending(struct talk *t, uint32_t rank, unsigned int nr);

/* talk_post() of a raw_send() or raw_recv(). */
unsigned int talk_send(struct talk *t, uint32_t from, uint32_t to, uint32_t tag,
		       const void *buf, uint64_t bytes);
unsigned int talk_recv(struct talk *t, uint32_t to, uint32_t from, uint32_t tag,
		       void *buf, uint64_t bytes, struct coll_message *got);

#endif /* COLL_SELFTESTS_TALK_H */
