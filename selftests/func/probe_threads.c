// SPDX-License-Identifier: GPL-2.0
/* Several threads of a rank probe and receive: each message is taken once. */
#include <errno.h>
#include <pthread.h>

#include "harness.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

#define MS	1000000ULL
#define THREADS	4
#define EACH	(TALK_CMDS / THREADS)

static struct talk t;

struct taker {
	pthread_t thread;
	uint32_t rank;
	unsigned int done;
	uint64_t sum;
	int ret;
};

/* Probe, receive what was found: nobody else may have got it. */
static void *take_all(void *arg)
{
	struct taker *k = arg;
	struct coll_message got, took;
	struct coll_cmd cmd;
	uint32_t o[2];

	for (k->done = 0; !k->ret && k->done < EACH; k->done++) {
		raw_probe(&cmd, COLL_MPROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got);
		cmd.timeout_ns = 60000 * MS;
		k->ret = raw_submit(t.c.fd[k->rank], &cmd);
		if (k->ret)
			break;
		raw_mrecv(&cmd, o, got.bytes, COLL_BYTE, got.id, &took);
		k->ret = raw_submit(t.c.fd[k->rank], &cmd);
		if (!k->ret && (took.tag != got.tag || took.bytes != got.bytes || o[0] != got.tag))
			k->ret = -EBADMSG;
		k->sum += got.tag;
	}
	return NULL;
}

TEST(several_threads)
{
	static uint32_t v[TALK_CMDS][2];
	struct taker k[THREADS];
	uint64_t sum, want = 0;
	unsigned int i;

	for (i = 0; i < TALK_CMDS; i++) {
		v[i][0] = i;
		want += i;
	}
	FOR_FEW_SHAPES(last) {
		sum = 0;
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < THREADS; i++) {
			k[i] = (struct taker){ .rank = last };
			ASSERT_EQ(0, pthread_create(&k[i].thread, NULL, take_all, &k[i]));
		}
		for (i = 0; i < TALK_CMDS; i++)
			talk_send(&t, 0, last, i, v[i], 4 + i % 5);
		for (i = 0; i < TALK_CMDS; i++)
			EXPECT_EQ(0, talk_result(&t, 0, i));
		for (i = 0; i < THREADS; i++) {
			pthread_join(k[i].thread, NULL);
			EXPECT_EQ(0, k[i].ret);
			sum += k[i].sum;
		}
		EXPECT_EQ(want, sum);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
