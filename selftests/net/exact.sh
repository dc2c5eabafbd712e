#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# COLL_OP_SUM_EXACT: the same sums over other numbers of ranks and nodes, against GMP.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/exact_rank
seed=${COLL_TEST_SEED:-$RANDOM}
echo "# COLL_TEST_SEED=$seed"

# exact RANKS NODES REPEAT
exact()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$rank" "$seed" "$3" >"$log" 2>&1 </dev/null
	ok $? "exact sums, $1 ranks, $2 nodes"
	grep '^#' "$log"
}

# Ranks, nodes, and how many times 1,000 sums: with 200 of them over links, partial
# results fill the kernel's scratch several times over.
cases='2:2:200 4:2:20 8:4:100 32:4:10'
for ranks in {1..32}; do
	nodes=$((1 + ranks % 4))
	cases+=" $ranks:$((nodes < ranks ? nodes : ranks)):1"
done
((${COLL_TEST_SCALE:-100} >= 100)) || cases='1:1:1 3:3:20 8:4:1 12:1:1 32:4:1'

plan "$(wc -w <<<"$cases")"
for one in $cases; do
	IFS=: read -r ranks nodes repeat <<<"$one"
	exact "$ranks" "$nodes" "$repeat"
done
finish
