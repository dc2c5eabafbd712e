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
	int ms;

	ASSERT_EQ(0, kill(pid, SIGSTOP));
	ms = stops_wait(pid);
	ASSERT_LE(0, ms) TH_LOG("it does not stop");
	EXPECT_GE(test_bound_ms(), ms) TH_LOG("it stops late");
}

#endif /* HALT_H */
