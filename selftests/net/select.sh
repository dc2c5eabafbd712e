#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Algorithms chosen by measuring, by hand, and by nodes that do not agree.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/select_rank
export COLLCTL=$tools/collctl

# run RANKS NODES MODE COLLRUN-OPTIONS...
run()
{
	"$tools/collrun" -t 60 -n "$1" --nodes "$2" "${@:4}" "$rank" "$3" >"$log" 2>&1 </dev/null
}

# said NAME PATTERN: all went well, and the log has this line
said()
{
	local status=$?

	((status == 0)) && grep -qE "$2" "$log"
	ok $? "$1"
}

plan 13
run 2 2 right
ok $? "right results, 2 nodes"
run 5 3 right -e COLL_SELECT=model
ok $? "right results, 5 ranks on 3 nodes, by the model alone"
run 4 4 right -e COLL_SELECT=tune
ok $? "right results, 4 nodes, measured at length"
run 4 1 right
ok $? "right results, one node"
run 4 2 differ -e COLL_SELECT=off
ok $? "different tables end in EBADE"
run 2 2 names -e COLL_SELECT=off
said "off: as without tables" "^names ring ring$"
grep -qE "^  allreduce: " "$log"
[ $? -eq 1 ]
ok $? "off: no table in the kernel"
run 2 2 names
said "collctl shows tables" "^  allreduce:.* then [a-z_]+( |\$)"
grep -qE '"select": \[' "$log" && grep -qE '"collective": 4, "bytes": 18446744073709551615, "algorithm": [1-9]' "$log"
ok $? "and in JSON"
run 3 3 names -e COLL_ALGORITHM_ALLREDUCE=chain
said "fixed by the environment" "^names chain chain$"
run 3 1 names -e COLL_SELECT=off -e COLL_ALGORITHM_ALLREDUCE=tree
said "fixed, and nothing measured, on one node" "^names tree tree$"
run 2 2 names -e COLL_ALGORITHM_ALLREDUCE=binomial
(($? == 1)) && grep -q "coll_init: invalid argument" "$log"
ok $? "no such algorithm: coll_init fails"
run 2 2 names -e COLL_SELECT=nonsense
(($? == 1)) && grep -q "coll_init: invalid argument" "$log"
ok $? "no such way: coll_init fails"
finish
