// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays all nodes but the root of a communicator. They say records without end while the
 * last rank of the root closes, so that records come while links are closed one after another.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

#define TEST_SECONDS	900

#include "harness.h"
#include "say.h"

#define PEERS	12

/**
 * struct child - a node that the test plays
 * @p: its end
 * @nr: which
 * @thread: says records until the stream breaks
 */
struct child {
	struct peer p;
	uint32_t nr;
	pthread_t thread;
};

/* A closed group lingers until its peers' TCP has all frames: take them off the stream. */
static void discard(struct child *c)
{
	char some[4096];

	while (recv(c->p.sock[0], some, sizeof(some), MSG_DONTWAIT | MSG_TRUNC) > 0)
		;
}

/* Names that are new are ended on all nodes. */
static void *say_all(void *arg)
{
	struct child *c = arg;
	struct coll_coord_rec r;
	char name[32];
	struct say t;
	uint32_t i;

	for (i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "n%u.%u", c->nr, i);
		say_begin(&t);
		r = say_record(COLL_FAIL, 0, 0);
		r.has_params = false;
		r.contributors = 0;
		say_rename(&r, name);
		r.bad.cause = COLL_BAD_TIMEOUT;
		say_add(&t, &r);
		if (!say_send(&t, &c->p, 0))
			break;
		discard(c);
	}
	return NULL;
}

static void once(struct __test_metadata *_metadata)
{
	static struct child c[PEERS];
	struct peer *p[PEERS];
	uint32_t k;

	for (k = 0; k < PEERS; k++) {
		p[k] = &c[k].p;
		c[k].nr = k;
	}
	ASSERT_EQ(0, peer_start_children(p, PEERS));
	for (k = 0; k < PEERS; k++)
		ASSERT_EQ(0, pthread_create(&c[k].thread, NULL, say_all, &c[k]));
	test_sleep_us(2000);
	close(p[0]->c.fd[0]);
	for (k = 0; k < PEERS; k++) {
		pthread_join(c[k].thread, NULL);
		peer_close(p[k], 0, false);
		peer_close(p[k], 1, false);
	}
}

/* What goes wrong is seen by KASAN, or the kernel does not survive. */
TEST(records_while_links_close)
{
	unsigned int i, n = test_scale(60);

	for (i = 0; i < n; i++)
		once(_metadata);
}

TEST_HARNESS_MAIN
