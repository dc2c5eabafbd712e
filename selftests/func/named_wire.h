/* SPDX-License-Identifier: GPL-2.0 */
/* Records of named collectives, sent by the node that the test plays. */
#ifndef NAMED_WIRE_H
#define NAMED_WIRE_H

#include "harness.h"
#include "say.h"

#define MS	1000000ULL
#define SECOND	1000000000ULL

/* Send one record on the control stream, which must be open. */
static inline void send_record(struct __test_metadata *_metadata, struct peer *p,
			       const struct coll_coord_rec *r)
{
	ASSERT_TRUE(say_one(p, r));
}

#endif /* NAMED_WIRE_H */
