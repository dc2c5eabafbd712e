/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's harness (kselftest_harness.h of the source package), with room for emulated and
 * busy machines: a test that takes longer than this, in seconds, hangs.
 */
#ifndef COLL_SELFTESTS_HARNESS_H
#define COLL_SELFTESTS_HARNESS_H

#include "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 300

#endif /* COLL_SELFTESTS_HARNESS_H */
