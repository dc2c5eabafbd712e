/* SPDX-License-Identifier: GPL-2.0 */
/* Probes and matched receives of the ranks of struct talk. */
#ifndef COLL_SELFTESTS_PROBES_H
#define COLL_SELFTESTS_PROBES_H

#include "talk.h"

/* Probe without waiting. @what: COLL_PROBE or COLL_MPROBE. Return: 0 or -errno. */
int probe_now(struct talk *t, uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
	      struct coll_message *got);
/*
 * Repeat probe_now() for ten seconds, until there is a message: the offer of a message takes
 * its time from one node to another.
 */
int probe_soon(struct talk *t, uint32_t rank, unsigned int what, uint32_t source, uint32_t tag,
	       struct coll_message *got);
/* Post a probe that waits. Return: as talk_post(). */
unsigned int probe_post(struct talk *t, uint32_t rank, unsigned int what, uint32_t source,
			uint32_t tag, struct coll_message *got);
/* Receive the message that a matched probe has taken. Return: as talk_result(). */
int probe_receive(struct talk *t, uint32_t rank, uint64_t id, void *buf, uint64_t bytes,
		  struct coll_message *got);

#endif /* COLL_SELFTESTS_PROBES_H */
