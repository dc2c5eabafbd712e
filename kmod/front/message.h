/* SPDX-License-Identifier: GPL-2.0 */
/* Decode the commands of messages. */
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
 * In the command of a receive, the count and the type are put into ->recv_count and ->recv_dtype,
 * so that no other function has to know the three forms.
 */
int coll_decode_message(struct coll_member *m, const struct coll_fixed *fixed,
			struct coll_req *req);

#endif /* COLL_FRONT_MESSAGE_H */
