/* SPDX-License-Identifier: GPL-2.0 */
/* Receives and offers that wait for a partner, found in trees. */
#ifndef COLL_CORE_MAILBOX_H
#define COLL_CORE_MAILBOX_H

#include <linux/types.h>

struct coll_group;
struct coll_mailbox;
struct coll_member;
struct coll_note;

/* Comparisons that matching has made for a rank. Under group->lock. */
u64 coll_msgs_steps(const struct coll_member *m);

/* Set up an empty mailbox of a rank of @g. */
void coll_mailbox_init(struct coll_mailbox *box, struct coll_group *g);

/**
 * coll_match_offered() - the oldest offer that fits a receive
 * @box: of the receiver
 * @source: rank, or COLL_RANK_ANY
 * @tag: tag, or COLL_TAG_ANY
 *
 * Under group->lock. Return: the offer, or NULL.
 */
struct coll_note *coll_match_offered(struct coll_mailbox *box, u32 source, u32 tag);

/* Take a note out of the list and the trees that it waits in. Under group->lock. */
void coll_note_take(struct coll_note *n);

/**
 * coll_match_held() - a message that a matched probe has taken
 * @box: of the receiver
 * @id: from the user
 *
 * Under group->lock. Return: the offer, or NULL.
 */
struct coll_note *coll_match_held(struct coll_mailbox *box, u64 id);

/* Let a receive, or a matched probe, wait for the offer that fits it. Under group->lock. */
void coll_match_put_wanted(struct coll_mailbox *box, struct coll_note *n);

/* Let an offer wait for a receive. Under group->lock. */
void coll_match_put_offer(struct coll_mailbox *box, struct coll_note *n);

/* Let a probe wait for the offer that fits it. Under group->lock. */
void coll_match_put_probe(struct coll_mailbox *box, struct coll_note *n);

/*
 * The oldest of the receives and matched probes that an offer fits, or NULL. Under
 * group->lock.
 */
struct coll_note *coll_match_receive(struct coll_mailbox *box, const struct coll_note *offer);

/* The oldest of the probes that an offer fits, or NULL. Under group->lock. */
struct coll_note *coll_match_probe(struct coll_mailbox *box, const struct coll_note *offer);

/*
 * Keep an offer, which is in no mailbox, for the receive that names its ->order. Under
 * group->lock.
 */
void coll_match_put_held(struct coll_mailbox *box, struct coll_note *n);

#endif /* COLL_CORE_MAILBOX_H */
