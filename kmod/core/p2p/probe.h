/* SPDX-License-Identifier: GPL-2.0 */
/* Probes. */
#ifndef COLL_CORE_PROBE_H
#define COLL_CORE_PROBE_H

#include <linux/types.h>

struct coll_group;
struct coll_msg;
struct coll_note;
struct coll_req;
struct list_head;

/**
 * coll_probe_found() - a probe has found an offer
 * @g: group
 * @p: receiving end of the probe
 * @n: offer; a matched probe takes it
 * @ending: @p is added
 *
 * Under group->lock; as coll_msg_offer().
 */
void coll_probe_found(struct coll_group *g, struct coll_msg *p, struct coll_note *n,
		      struct list_head *ending);

/* Copy what a probe is told about an offer. Under group->lock. */
void coll_probe_remember(const struct coll_note *n, struct coll_note *kept);

/**
 * coll_probes_tell() - complete the plain probes that waited for an offer
 * @g: group
 * @kept: by coll_msg_offer(); nothing happens if no probe waited
 *
 * Any number of probes may fit one offer. They are taken in slices, so that group->lock is
 * held for a short time only. After a while a work item goes on. Process context, no locks.
 */
void coll_probes_tell(struct coll_group *g, const struct coll_note *kept);

/**
 * coll_probe_now() - look for a message without waiting
 * @req: a probe
 *
 * No locks. Return: 1: @req has been completed, and may be gone; 0: there is none, and the
 * probe may wait; negative: as coll_msg_post().
 */
int coll_probe_now(struct coll_req *req);

#endif /* COLL_CORE_PROBE_H */
