/* SPDX-License-Identifier: GPL-2.0 */
/* A rank is stopped by SIGSTOP, in time. */
#ifndef HALT_H
#define HALT_H

#include <signal.h>

#include "harness.h"
#include "stops.h"
#include "util.h"

static inline void halt(struct __test_metadata *_metadata, pid_t pid)
{
	uint64_t since = test_now_ns();

	ASSERT_EQ(0, kill(pid, SIGSTOP));
	ASSERT_LE(0, stops_wait(pid)) TH_LOG("it does not stop");
	EXPECT_FALSE(test_late(since, test_now_ns())) TH_LOG("it stops late");
}

#endif /* HALT_H */
