/* SPDX-License-Identifier: GPL-2.0 */
/* Records about named collectives, which a test says in the place of a node. */
#ifndef COLL_SELFTESTS_SAY_H
#define COLL_SELFTESTS_SAY_H

#include "peer.h"
#include "pure/coord/coord_wire.h"

#define SAY_NAME	"grad"
/* What say_post() posts has this tag. */
#define SAY_TAG		5

/**
 * struct say - a frame of records in the making
 * @buf: header and payload
 * @len: bytes of both
 */
struct say {
	uint8_t buf[COLL_WIRE_HDR + 4096];
	size_t len;
};

void say_begin(struct say *t);
void say_add(struct say *t, const struct coll_coord_rec *r);
/* Return: false if the stream is broken. */
bool say_send(struct say *t, struct peer *p, int stripe);

/* One record on the control stream. Return: as say_send(). */
bool say_one(struct peer *p, const struct coll_coord_rec *r);

/* A record about a barrier SAY_NAME of rank 1, as say_post() posts it. */
struct coll_coord_rec say_record(uint8_t kind, uint32_t id, uint32_t round);

/* Rename it; @name has to stay. */
void say_rename(struct coll_coord_rec *r, const char *name);

/* Make it an allreduce of @count numbers of type f32. */
void say_sum(struct coll_coord_rec *r, uint64_t count);

/* The real rank posts a barrier. Return: 0 or -errno. */
int say_post(struct peer *p, const char *name, uint64_t timeout_ns);

/* The result of one tensor that is pending, at most 20 s later; -ENODATA: there is none. */
int say_result(struct peer *p, struct coll_tensor_result *res);

/* The next record that the real node says, if its next frame has one record. */
bool say_hear(struct peer *p, struct coll_coord_rec *r);

#endif /* COLL_SELFTESTS_SAY_H */
