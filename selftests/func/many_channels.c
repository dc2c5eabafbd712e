// SPDX-License-Identifier: GPL-2.0
/*
 * Many communicators on one link. All of them greet at once: the time that this takes is linear in
 * their number.
 */
#include <pthread.h>
#include <sys/resource.h>

#define TEST_SECONDS	900

#include "harness.h"
#include "peer.h"

#define MANY	1600U
#define FEW	(MANY / 16)

static struct peer first, others[MANY];

/* @n frames of the real side. */
static bool hear(uint32_t n)
{
	struct coll_frame f;

	while (n--)
		if (!peer_read(&first, 0, &f, 10000))
			return false;
	return true;
}

#define LEAVERS	16

static uint32_t nr_there;

/* close() takes a moment: threads do it side by side. */
static void *leave(void *arg)
{
	uint32_t k;

	for (k = (uintptr_t)arg; k < nr_there; k += LEAVERS)
		peer_leave(&others[k]);
	return NULL;
}

static bool leave_all(void)
{
	pthread_t t[LEAVERS];
	uintptr_t i;

	for (i = 0; i < LEAVERS; i++)
		pthread_create(&t[i], NULL, leave, (void *)i);
	for (i = 0; i < LEAVERS; i++)
		pthread_join(t[i], NULL);
	/* BYE */
	return hear(nr_there);
}

/*
 * @n communicators come to the link, greet and leave. Nanoseconds from our greetings to the last
 * answer; 0: error.
 */
static uint64_t time_them(uint32_t n)
{
	uint8_t buf[PEER_GREET];
	uint64_t took;
	uint32_t k;

	for (k = 0; k < n; k++) {
		if (peer_second(&others[k], &first) ||
		    raw_share(others[k].c.fd[0], 1, first.c.fd[0], 1) ||
		    !peer_hear(&others[k], &first, 0))
			return 0;
	}
	nr_there = n;
	took = test_now_ns();
	for (k = 0; k < n; k++)
		if (!peer_write(&first, 0, buf, peer_put_greet(&others[k], 0, buf)))
			return 0;
	/* HELLO once more, and PROOF. */
	if (!hear(2 * n))
		return 0;
	took = test_now_ns() - took;
	return leave_all() ? took : 0;
}

/* Nanoseconds for MANY communicators, FEW at a time; 0: error. */
static uint64_t time_in_parts(void)
{
	uint64_t sum = 0, t;
	uint32_t i;

	for (i = 0; i < MANY / FEW; i++) {
		t = time_them(FEW);
		if (!t)
			return 0;
		sum += t;
	}
	return sum;
}

/* The machine may have other work: one try of ten has to be good. */
TEST(linear)
{
	struct rlimit files = { 4096, 4096 };
	uint64_t parts = 0, many = 1;
	int i;

	setrlimit(RLIMIT_NOFILE, &files);
	ASSERT_EQ(0, peer_start(&first, true));
	for (i = 0; i < 10 && many > 3 * parts; i++) {
		parts = time_in_parts();
		ASSERT_NE(0, parts);
		many = time_them(MANY);
		ASSERT_NE(0, many);
	}
	TH_LOG("%u take %llu us in parts, %llu us at once", MANY,
	       (unsigned long long)parts / 1000, (unsigned long long)many / 1000);
	EXPECT_LE(many, 3 * parts);
	peer_stop(&first);
}

TEST_HARNESS_MAIN
