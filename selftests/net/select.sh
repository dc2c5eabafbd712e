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
	# shellcheck disable=SC2086 # a mode may have an argument
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "${@:4}" "$rank" $3 >"$log" 2>&1 </dev/null
}

# tune RANKS NODES FILE
tune()
{
	"$COLLCTL" tune -o "$3" -t 1 -- -t 200 -n "$1" --nodes "$2" >"$log" 2>&1 </dev/null
}

# fails NAME PATTERN: coll_init() has failed, and the log has this line
fails()
{
	local status=$?

	((status == 1)) && grep -qE "$2" "$log"
	ok $? "$1"
}

# said NAME PATTERN: all went well, and the log has this line
said()
{
	local status=$?

	((status == 0)) && grep -qE "$2" "$log"
	ok $? "$1"
}

dir=$(mktemp -d)
trap 'rm -rf "$log" "$dir"' EXIT

plan 36
run 2 2 right
ok $? "right results, 2 nodes"
run 5 3 right -e COLL_SELECT=model
ok $? "right results, 5 ranks on 3 nodes, by the model alone"
run 4 4 right -e COLL_SELECT=tune:2
ok $? "right results, 4 nodes, measured at length"
run 4 1 right
ok $? "right results, one node"
run 4 2 differ -e COLL_SELECT=off
ok $? "different tables end in EBADE"
run 2 2 names -e COLL_SELECT=off
said "off: as without tables" "^names ring ring$"
grep -qE "^  allreduce \(" "$log"
[ $? -eq 1 ]
ok $? "off: no table in the kernel"
run 2 2 names
said "collctl shows tables" "^  allreduce \((model|measured)\):.* then [a-z_]+( |\$)"
grep -qE '"select": \[' "$log" && grep -qE '"collective": 4, "bytes": 18446744073709551615, "algorithm": [1-9].*"source": [12]' "$log"
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
run 2 2 names -e COLL_SELECT=tune:0
fails "no such time: coll_init fails" "coll_init: invalid argument"
run 4 1 right -e COLL_SELECT=tune:1
ok $? "one node, measured at length"

tune 3 3 "$dir/a"
said "collctl tune" "/a: tables of 3 ranks on 3 nodes"
tune 4 2 "$dir/a"
said "and of other nodes into the same file" "/a: tables of 4 ranks on 2 nodes"
"$COLLCTL" tables "$dir/a" >"$log" 2>&1
(($? == 0)) && grep -q "^line .*3 ranks on 3 nodes" "$log" && grep -q "^line .*4 ranks on 2 nodes" "$log"
ok $? "the file has both"
run 3 3 names -e COLL_SELECT="$dir/a"
said "the file is taken" "^  allreduce \\(file\\): .*then [a-z_]+"
run 4 2 right -e COLL_SELECT="$dir/a"
ok $? "right results with it"
run 4 4 names -e COLL_SELECT="$dir/a"
said "not by nodes that are not in it" "^  allreduce \\((model|measured)\\): "
run 3 3 names -e COLL_SELECT="$dir/a" -e COLL_ALGORITHM_ALLREDUCE=tree
said "the environment comes before the file" "^  allreduce \\(fixed\\): then tree$"

printf 'coll-tables 1\nhosts any nodes 2 ranks 4\nallreduce 64 tree\nallreduce max chain 4096\n' >"$dir/any"
run 4 2 names -e COLL_SELECT="$dir/any"
said "tables for any hosts" "^names tree chain$"
run 4 2 parts -e COLL_SELECT="$dir/any"
(($? == 0)) && (($(grep -c "^  allreduce (file): up to 64 bytes tree, then chain in segments of 4096" "$log") == 4))
ok $? "a dup has them, on both nodes, in the kernel"
printf 'allreduce max ring\n' >>"$dir/any"
run 4 2 names -e COLL_SELECT="$dir/any" -e COLL_DEBUG=1
fails "a wrong line: coll_init fails, the number is told" "/any:5: allreduce: sizes do not ascend"
printf 'coll-tables 1\nhosts any nodes 2 ranks 4\n\nallreduce max binomial\n' >"$dir/any"
run 4 2 names -e COLL_SELECT="$dir/any" -e COLL_DEBUG=1
fails "no such algorithm: likewise" '/any:4: allreduce has no algorithm "binomial"'
tune 3 3 "$dir/any"
(($? == 1)) && (($(grep -c binomial "$dir/any") == 1)) && grep -q "/any:4: " "$log"
ok $? "collctl tune does not touch such a file"
begin=$SECONDS
"$COLLCTL" tune -o "$dir/missing/file" -t 100 -- -t 200 -n 2 --nodes 2 >"$log" 2>&1 </dev/null
(($? == 1)) && ((SECONDS < begin + 80)) && grep -q "missing/file: No such file" "$log"
ok $? "collctl tune looks for the directory before it measures"
run 4 2 names -e COLL_SELECT="$dir/none"
fails "no such file: coll_init fails" "coll_init: invalid argument"

run 4 4 "keep $dir/b"
ok $? "saved and loaded by the library"
run 5 3 parts
ok $? "parts have tables, the same on all ranks"
run 5 3 parts -e COLL_SELECT=off
ok $? "parts of what has none have none"
run 4 2 "keep $dir/b" -e COLL_SELECT=off
ok $? "measured, saved and loaded without any to begin with"
run 2 2 late
ok $? "tuned as long as the deadline allows"
run 2 2 right -e COLL_SELECT=tune:60 -e COLL_TIMEOUT_MS=12000
ok $? "and as long as that of coll_init() allows"
run 2 2 piece
ok $? "a mesh has pieces of the size of its segment"
finish
