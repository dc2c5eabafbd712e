// SPDX-License-Identifier: GPL-2.0
/*
 * A group ends while a rank is still posting it: its parent ends the first member as soon as it
 * hears of it. The members that the call posts after that end as well.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TEST_SECONDS	900

#include "harness.h"
#include "say.h"

#define MEMBERS	16384U
#define DIGEST	0x1234567800000001ULL

static char names[MEMBERS][8];
static struct coll_cmd barrier;
static struct coll_tensor group[MEMBERS];

static void make_group(void)
{
	uint32_t k;

	raw_barrier(&barrier);
	for (k = 0; k < MEMBERS; k++) {
		snprintf(names[k], sizeof(names[k]), "g%u", k);
		raw_tensor(&group[k], names[k], &barrier, k);
		group[k].group = DIGEST;
		group[k].members = MEMBERS;
	}
}

/**
 * struct parent - what the parent does and hears
 * @p: its end
 * @ended: it has ended the first member
 * @ready: records READY that it has heard
 * @failed: members that it has been asked to end
 * @nr_failed: number of these
 */
struct parent {
	struct peer p;
	bool ended;
	uint32_t ready;
	bool failed[MEMBERS];
	uint32_t nr_failed;
};

static bool end_first(struct parent *q)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_BAD, 1, 0);

	say_rename(&r, names[0]);
	r.has_params = false;
	r.bad.cause = COLL_BAD_TIMEOUT;
	r.bad.group[0] = DIGEST;
	q->ended = true;
	return say_one(&q->p, &r);
}

static void take(struct parent *q, const struct coll_coord_rec *r)
{
	char name[16] = "";
	uint32_t k;

	q->ready += r->kind == COLL_READY;
	if (r->kind != COLL_FAIL || !r->name_len || r->name_len >= sizeof(name))
		return;
	memcpy(name, r->name, r->name_len);
	k = strtoul(name + 1, NULL, 10) % MEMBERS;
	q->nr_failed += !q->failed[k];
	q->failed[k] = true;
}

/* Until nothing comes for ten seconds, or all but the first one have failed. */
static void *listen_to(void *arg)
{
	struct parent *q = arg;
	struct coll_coord_rec r;
	struct coll_frame f;
	uint32_t at, n;

	while (q->nr_failed < MEMBERS - 1 && peer_read(&q->p, 0, &f, 10000)) {
		if (f.type != COLL_FRAME_TENSOR)
			continue;
		for (at = 0; at < f.length; at += n) {
			n = coll_coord_get(q->p.payload + at, f.length - at, &r);
			if (!n)
				return NULL;
			take(q, &r);
		}
		if (!q->ended && !end_first(q))
			return NULL;
	}
	return NULL;
}

TEST(ended_while_posted)
{
	static struct parent q;
	uint32_t round, posted;
	pthread_t thread;

	make_group();
	for (round = 0; round < 6; round++) {
		memset(&q, 0, sizeof(q));
		ASSERT_EQ(0, peer_start_named(&q.p, 1));
		ASSERT_EQ(0, pthread_create(&thread, NULL, listen_to, &q));
		EXPECT_EQ(0, raw_post(q.p.c.fd[0], group, MEMBERS, &posted));
		EXPECT_EQ(MEMBERS, posted);
		pthread_join(thread, NULL);
		TH_LOG("%u were ready before", q.ready);
		EXPECT_EQ(MEMBERS - 1, q.nr_failed);
		peer_stop(&q.p);
	}
}

TEST_HARNESS_MAIN
