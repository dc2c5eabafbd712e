/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* How ranks agree on errors. */
#ifndef LIBCOLL_ITERATE_VOTE_H
#define LIBCOLL_ITERATE_VOTE_H

#include "session.h"

/**
 * struct iter_vote - what ranks tell each other before they go on
 * @error, @rank: of the lowest rank that failed, after the vote; 0: none failed
 * @min, @max: of @mine over all ranks
 * @flag: the largest over all ranks
 */
struct iter_vote {
	uint64_t mine, min, max, flag;
	int error;
	uint32_t rank;
};

/*
 * All ranks learn whether any of them has failed. @error and the text are this
 * rank's. Return: 0; the error of the rank that failed, whose text is in @text then; or
 * that of the collective.
 */
int iter_vote(coll_comm_t *comm, struct iter_vote *v, char text[ITER_TEXT]);
/* After a collective has failed: abort, so that no rank waits for this one. @text: the reason. */
int iter_broken(coll_comm_t *comm, int err, const char *what, char text[ITER_TEXT]);
uint64_t iter_now(void);

#endif
