#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Many ranks on one node: what the kernel needs beside their vectors stays small, and no
# schedule has more steps than it may have. It takes 256 ranks for gather and scatter to
# need too much: with fewer only what they deliver is looked at.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# many RANKS WHAT ELEMENTS
many()
{
	"$tools/collrun" -t 200 -n "$1" "${COLL_TEST_BUILD:?}/many_rank" "$2" "$3" >"$log" 2>&1 </dev/null
	ok $? "$2, $1 ranks, $3 elements each"
}

plan 3
many "$(largest 256 64)" gather 16384
many "$(largest 256 64)" scatter 16384
many 64 bruck 2304
finish
