#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel memory of an op is charged to the control group of the rank that joined.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

control=/sys/fs/cgroup/cgroup.subtree_control

# Remove what failed ranks have left, and what was not there before
tidy()
{
	rmdir /sys/fs/cgroup/coll-*-{first,second} 2>/dev/null
	[[ " $was " == *" memory "* ]] || echo -memory >"$control"
}

# memcg RANKS
memcg()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$1" "${COLL_TEST_BUILD:?}/memcg_rank" \
		>"$log" 2>&1 </dev/null
	ok $? "$1 ranks, $1 nodes"
}

plan 1
was=$(cat "$control" 2>/dev/null)
if echo +memory 2>"$log" >"$control"; then
	trap 'tidy; rm -f "$log"' EXIT
	memcg 3
else
	skip "3 ranks, 3 nodes" "no control groups for memory"
fi
finish
