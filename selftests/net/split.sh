#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# coll_comm_split() and coll_comm_dup(): parts of all kinds on other numbers of ranks
# and nodes, deaths in a part, and nothing left behind.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/split_rank

# use RANKS NODES
use()
{
	local seed=${COLL_TEST_SEED:-$RANDOM}

	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$rank" use "$seed" >"$log" 2>&1 </dev/null
	ok $? "parts of all kinds, $1 ranks, $2 nodes, seed $seed"
}

# leak RANKS NODES TIMES
leak()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$rank" leak "$3" >"$log" 2>&1 </dev/null
	ok $? "$3 splits in a row, $1 ranks, $2 nodes: no file is left"
}

# die MODE RANKS NODES VICTIM NAME: every other rank has to say that all was well
die()
{
	local status

	"$tools/collrun" -t 200 -k -n "$2" --nodes "$3" "$rank" "$1" "$4" >"$log" 2>&1 </dev/null
	status=$?
	echo "status $status" >>"$log"
	((status == 137)) && (($(grep -c '^heard 0$' "$log") == $2 - 1))
	ok $? "$5, $2 ranks, $3 nodes"
}

cases='1:1'
for ranks in {2..8}; do
	for nodes in 1 2 3; do
		((nodes >= ranks)) || cases+=" $ranks:$nodes"
	done
	cases+=" $ranks:$ranks"
done
times=100
((${COLL_TEST_SCALE:-100} >= 100)) || { cases='1:1 3:2 5:5 8:3'; times=10; }

plan $(($(wc -w <<<"$cases") + 7))
for one in $cases; do
	use "${one%:*}" "${one#*:}"
done
die die 6 1 1 "a rank dies in its part"
die die 6 3 1 "a rank dies in its part"
die die 8 8 0 "a rank dies in its part"
die gone 5 2 4 "a rank dies while others wait for it in the split"
leak 4 1 "$times"
leak 6 3 "$times"
nothing_left
ok $? "nothing of all this is left in the kernel"
finish
