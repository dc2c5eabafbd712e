/* SPDX-License-Identifier: GPL-2.0 */
/* Messages: their commands are decoded. */
#ifndef COLL_FRONT_MESSAGE_H
#define COLL_FRONT_MESSAGE_H

struct coll_fixed;
struct coll_member;
struct coll_req;

/**
 * coll_decode_message() - check and pin a send, receive or both
 * @m: member it is for
 * @fixed: as coll_decode()
 * @req: the command has been copied; as coll_decode()
 *
 * In the command of a receive what is received is moved to @recv_count and @recv_dtype,
 * so that nobody else has to know the three forms.
 */
int coll_decode_message(struct coll_member *m, const struct coll_fixed *fixed,
			struct coll_req *req);

#endif /* COLL_FRONT_MESSAGE_H */
