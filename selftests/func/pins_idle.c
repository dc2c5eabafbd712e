// SPDX-License-Identifier: GPL-2.0
/* Plain buffers that no op has used for some time do not stay pinned: see pin_idle. */
#include <string.h>

#include "pages.h"
#include "pins.h"
#include "util.h"

#define PIN_IDLE	"/sys/module/coll/parameters/pin_idle"
#define PIN_CACHE	"/sys/module/coll/parameters/pin_cache"
#define PIN_CACHE_DEFAULT "268435456"
/* Pages of all buffers of this test. Linux may drop some pins at once: 6.1 does. */
#define ALL		(2 * RANKS * (long)PAGES)
#define MS		1000000ULL

FIXTURE_SETUP(pins)
{
	pins_start(_metadata, self);
}

FIXTURE_TEARDOWN(pins)
{
	raw_stop(&self->c);
	test_put(PIN_IDLE, "30");
	test_put(PIN_CACHE, PIN_CACHE_DEFAULT);
}

/* Are so few pages pinned within @ms? */
static bool pinned_at_most(long most, unsigned int ms)
{
	unsigned int i;

	for (i = 0; i < ms / 20 && pages_pinned() > most; i++)
		test_sleep_us(20000);
	return pages_pinned() <= most;
}

TEST_F(pins, dropped_when_idle)
{
	long before = pages_pinned();

	if (before < 0 || !test_put(PIN_IDLE, "1"))
		SKIP(return, "nothing stays pinned here");
	fill_all(self, 1);
	ASSERT_EQ(0, sum(self, 0, COUNT, 3, 2));
	EXPECT_LE(before + ALL / 2, pages_pinned());
	EXPECT_TRUE(pinned_at_most(before, 10000));
	/* And pinned again. */
	fill_all(self, 2);
	ASSERT_EQ(0, sum(self, 0, COUNT, 5, 2));
	EXPECT_LE(before + ALL / 2, pages_pinned());
	EXPECT_TRUE(pinned_at_most(before, 10000));
}

TEST_F(pins, kept_while_used)
{
	uint64_t end;
	long ever;
	int ops = 0;

	if (pages_pinned() < 0 || !test_put(PIN_IDLE, "2"))
		SKIP(return, "nothing stays pinned here");
	fill_all(self, 1);
	ASSERT_EQ(0, sum(self, 0, COUNT, 3, 2));
	ever = pages_pinned_ever();
	/* Longer than the limit, but an op comes far more often. */
	for (end = test_now_ns() + 5000 * MS; test_now_ns() < end; ops++) {
		ASSERT_EQ(0, sum(self, 0, COUNT, 3, 2));
		test_sleep_us(20000);
	}
	/* On a machine that stands still for seconds they are dropped once or twice. */
	EXPECT_LT(pages_pinned_ever() - ever, ops * ALL / 4) TH_LOG("%d ops", ops);
}

/* Without a limit they stay until the communicator ends. */
TEST_F(pins, no_limit)
{
	long before = pages_pinned();

	if (before < 0 || !test_put(PIN_IDLE, "0"))
		SKIP(return, "nothing stays pinned here");
	fill_all(self, 1);
	ASSERT_EQ(0, sum(self, 0, COUNT, 3, 2));
	test_sleep_us(3000000);
	EXPECT_LE(before + ALL / 2, pages_pinned());
	raw_stop(&self->c);
	EXPECT_TRUE(pinned_at_most(before, 10000));
}

/* A smaller cache counts for what is pinned already, and for buffers that are used again. */
TEST_F(pins, no_cache_any_more)
{
	long before = pages_pinned();

	if (before < 0 || !test_put(PIN_IDLE, "0"))
		SKIP(return, "nothing stays pinned here");
	fill_all(self, 1);
	ASSERT_EQ(0, sum(self, 0, COUNT, 3, 2));
	EXPECT_LE(before + ALL / 2, pages_pinned());
	ASSERT_TRUE(test_put(PIN_CACHE, "0"));
	EXPECT_TRUE(pinned_at_most(before, 10000));
	fill_all(self, 2);
	ASSERT_EQ(0, sum(self, 0, COUNT, 5, 2));
	EXPECT_TRUE(pinned_at_most(before, 2000));
}

TEST_HARNESS_MAIN
