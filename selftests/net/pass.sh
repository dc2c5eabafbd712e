#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Collectives of one node: sums in the order of ranks, blocks of any length and place.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/pass_rank
seed=${COLL_TEST_SEED:-$RANDOM}
rounds=$(largest 300 60)
echo "# COLL_TEST_SEED=$seed"

# pass RANKS SHM NAME
pass()
{
	COLL_SHM=$2 "$tools/collrun" -t 200 -n "$1" "$rank" "$seed" "$rounds" >"$log" 2>&1 </dev/null
	ok $? "$1 ranks$3"
	seed=$((seed + 1))
}

plan 8
for n in 1 2 3 4 5 8; do
	pass "$n" 0 ""
done
pass 2 1 ", small ones in shared memory"
pass 3 1 ", small ones in shared memory"
finish
