/* SPDX-License-Identifier: GPL-2.0 */
/* A fusion of a small and a large tensor, and what its rank sees. */
#ifndef NAMED_EARLY_PAIR_H
#define NAMED_EARLY_PAIR_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "named_early_peer.h"

static inline struct pair *pair_start(struct __test_metadata *_metadata, uint32_t small)
{
	struct pair *j = calloc(1, sizeof(*j));
	struct coll_coord_rec r;
	uint32_t i, k;
	struct say t;

	ASSERT_NE(NULL, j);
	j->small = small;
	lay_out(j);
	for (k = 0; k < 2; k++)
		for (i = 0; i < LARGE; i++)
			j->in[k][i] = value(0, k, i);
	ASSERT_EQ(0, peer_start_named(&j->p, 0));
	say_begin(&t);
	r = ready("small", small);
	say_add(&t, &r);
	r = ready("large", LARGE);
	say_add(&t, &r);
	ASSERT_TRUE(say_send(&t, &j->p, 0));
	/* Both become ready at the same time, when the rank posts them. */
	ASSERT_TRUE(only_missing(2));
	ASSERT_EQ(0, pthread_create(&j->reader, NULL, read_all, j));
	ASSERT_EQ(0, post(j));
	ASSERT_TRUE(is_fused(j));
	j->sig = coll_digest(coll_signature(COLL_ALLREDUCE, COLL_OP_SUM, COLL_I32, COLL_ALG_RING, 0,
					    coll_digest(small, LARGE), 1), COLL_WIRE_FUSED);
	return j;
}

/* shutdown() ends the reader. */
static inline void pair_stop(struct pair *j)
{
	shutdown(j->p.sock[1], SHUT_RDWR);
	pthread_join(j->reader, NULL);
	peer_stop(&j->p);
	free(j);
}

static inline unsigned long wrong(const struct pair *j, uint32_t tensor)
{
	unsigned long n = 0;
	uint32_t i;

	for (i = 0; i < (tensor ? LARGE : j->small); i++)
		n += j->out[tensor][i] != sum(tensor, i);
	return n;
}

static inline uint8_t spoiled(uint32_t i)
{
	return (uint8_t)(i * 13 + 5);
}

/* The rank overwrites the memory of the small tensor. */
static inline void spoil(struct pair *j)
{
	uint32_t i;

	for (i = 0; i < j->small * 4; i++) {
		((uint8_t *)j->in[0])[i] = spoiled(i);
		((uint8_t *)j->out[0])[i] = spoiled(i);
	}
}

static inline unsigned long touched(const struct pair *j)
{
	unsigned long n = 0;
	uint32_t i;

	for (i = 0; i < j->small * 4; i++)
		n += ((const uint8_t *)j->in[0])[i] != spoiled(i) ||
		     ((const uint8_t *)j->out[0])[i] != spoiled(i);
	return n;
}

static inline int collect(struct pair *j, struct coll_tensor_result *res, uint64_t ns)
{
	memset(res, 0, sizeof(*res));
	return raw_collect(j->p.c.fd[0], res, 1, 1, ns);
}

static inline void small_ends(struct __test_metadata *_metadata, struct pair *j)
{
	struct coll_tensor_result res;

	ASSERT_TRUE(put_first(j));
	ASSERT_EQ(1, collect(j, &res, 20 * SECOND));
	EXPECT_EQ(SMALL_TAG, res.tag);
	EXPECT_EQ(0, res.result);
	EXPECT_EQ(0, wrong(j, 0));
	EXPECT_EQ(-ETIMEDOUT, collect(j, &res, SECOND / 10));
}

#endif /* NAMED_EARLY_PAIR_H */
