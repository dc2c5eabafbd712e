// SPDX-License-Identifier: GPL-2.0
#include <errno.h>

#include "probes.h"
#include "raw.h"
#include "talk.h"
#include "util.h"

int probe_now(struct talk *t, uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
	      struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_probe(&cmd, what, source, tag, got);
	cmd.flags = COLL_CMD_NOWAIT;
	return raw_submit(t->c.fd[rank], &cmd);
}

int probe_soon(struct talk *t, uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
	       struct coll_message *got)
{
	unsigned int ms;
	int ret = -ENOMSG;

	for (ms = 0; ret == -ENOMSG && ms < 10000; ms++) {
		ret = probe_now(t, rank, what, source, tag, got);
		if (ret)
			test_sleep_us(1000);
	}
	return ret;
}

unsigned int probe_post(struct talk *t, uint32_t rank, unsigned int what, uint32_t source,
			uint32_t tag, struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_probe(&cmd, what, source, tag, got);
	return talk_post(t, rank, &cmd);
}

int probe_receive(struct talk *t, uint32_t rank, uint64_t id, void *buf, uint64_t bytes,
		  struct coll_message *got)
{
	struct coll_cmd cmd;

	raw_mrecv(&cmd, buf, bytes, COLL_BYTE, id, got);
	return talk_result(t, rank, talk_post(t, rank, &cmd));
}
