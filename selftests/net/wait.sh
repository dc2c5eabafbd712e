#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Waits with an end, and waits that call a function: in shared memory, by io_uring and by ioctl.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/wait_rank

# waits NODES [VARIABLE=VALUE]
waits()
{
	env "${@:2}" "$tools/collrun" -t 100 -n 2 --nodes "$1" "$rank" >"$log" 2>&1 </dev/null
	ok $? "a rank comes late, $1 nodes${2:+, $2}"
}

plan 5
waits 1 COLL_SHM=0
waits 1 COLL_SHM=1
waits 1 COLL_NO_URING=1
waits 2
waits 2 COLL_NO_URING=1
finish
