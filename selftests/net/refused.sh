#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel takes nothing from a ring, for lack of memory, for a while.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# refused RANKS NODES ERROR [late]
refused()
{
	local status

	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "${COLL_TEST_BUILD:?}/refused_rank" "${@:3}" \
		>"$log" 2>&1 </dev/null
	status=$?
	if ((status == 4)); then
		skip "$1 ranks, $2 nodes, ${*:3}" "no seccomp"
	else
		ok $status "$1 ranks, $2 nodes, ${*:3}"
	fi
}

# In shared memory there is nothing to refuse.
export COLL_SHM=0

plan 5
refused 2 1 EAGAIN
refused 2 2 EAGAIN
refused 3 3 ENOMEM
refused 2 1 ENOMEM late
refused 3 3 EAGAIN late
finish
