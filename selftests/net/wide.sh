#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Results that fit their type, of partial results that do not; COLL_CMD_NARROW.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/wide_rank

# wide RANKS NODES
wide()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$rank" >"$log" 2>&1 </dev/null
	ok $? "partial results, $1 ranks, $2 nodes"
}

plan 10
wide 1 1
wide 3 1
wide 2 2
wide 3 3
wide 4 2
wide 5 3
wide 8 4
few=(-b 40 -e "$(largest 400K 2K)" -f 100 -n "$(largest 2 1)" -w 0)
perf "narrow averages, 4 ranks, 2 nodes" -n 4 --nodes 2 -- allreduce -d all -o avg "${few[@]}" --narrow
perf "narrow sums, 3 ranks, 3 nodes" -n 3 --nodes 3 -- allreduce -d all -o sum "${few[@]}" --narrow --inplace
perf "narrow premulsums, 3 ranks, 1 node" -n 3 -- allreduce -d all -o premulsum "${few[@]}" --narrow
finish
