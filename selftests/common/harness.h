/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's harness (kselftest_harness.h of the source package), with room for emulated and
 * busy machines: a test that takes longer than TEST_SECONDS hangs. A program whose tests take long
 * anyway defines TEST_SECONDS before it includes this file.
 */
#ifndef COLL_SELFTESTS_HARNESS_H
#define COLL_SELFTESTS_HARNESS_H

#include "kselftest_harness.h"

#ifndef TEST_SECONDS
#define TEST_SECONDS 300
#endif

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT TEST_SECONDS

/* SKIP() after checks would hide that one of them has failed. Then the test has failed. */
#define SKIP_REST(statement, fmt, ...) do { \
	if (!__test_passed(_metadata)) { \
		statement; \
	} \
	SKIP(statement, fmt, ##__VA_ARGS__); \
} while (0)

#endif /* COLL_SELFTESTS_HARNESS_H */
