/* SPDX-License-Identifier: GPL-2.0 */
/* Copies messages within a node. */
#ifndef COLL_CORE_COPY_H
#define COLL_CORE_COPY_H

#include <linux/types.h>

struct coll_msg;
struct coll_req;
struct coll_worker;

/* As coll_req_help() and coll_req_can_help(), for requests that are messages. */
void coll_msg_help(struct coll_req *req, struct coll_worker *w);

bool coll_msg_can_help(struct coll_req *req);

/* Start moving the bytes of a lead that has just been matched. Drops the caller's ref. */
void coll_msg_begin(struct coll_msg *lead);

/* Copy from the sender's pages to the receiver's. The caller holds a ref. */
void coll_msg_copy(struct coll_msg *lead);

#endif /* COLL_CORE_COPY_H */
