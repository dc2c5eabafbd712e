#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# coll_adasum(): values, the same bits on all ranks, and errors on all of them.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/adasum_rank
seed=${COLL_TEST_SEED:-$RANDOM}
export CASES=40
((${COLL_TEST_SCALE:-100} >= 100)) || CASES=12

# adasum RANKS NODES
adasum()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$rank" "$seed" >"$log" 2>&1 </dev/null
	ok $? "adasum, seed $seed, $1 ranks, $2 nodes"
}

plan 6
echo "# COLL_TEST_SEED=$seed"
adasum 1 1
adasum 2 1
adasum 2 2
adasum 3 1
adasum 4 2
adasum 8 3
finish
