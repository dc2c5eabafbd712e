#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# f16 and bf16 between nodes: numbers that are right, and half of the bytes.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/wire_types_rank
ops=$(largest 20 6)

# sent ATTRIBUTE: of all links that the last run has shown. (print would round large sums.)
sent()
{
	grep -o "\"$1\": [0-9]*" "$log" | awk '{ sum += $2 } END { printf "%.0f\n", sum }'
}

# run TYPE RANKS NODES
run()
{
	COLL_SELECT=off "$tools/collrun" -t 200 -n "$2" --nodes "$3" "$rank" "$1" "$ops" \
		"$tools/collctl" >"$log" 2>&1 </dev/null
	ok $? "$1, $2 ranks, $3 nodes"
}

plan 16
for world in 1:1 3:1 2:2 4:2 3:3; do
	for type in f16 bf16; do
		run "$type" "${world%:*}" "${world#*:}"
	done
done
run f32 2 2
full=$(sent tx-bytes)
((full && $(sent tx-saved) == 0))
ok $? "f32: $full bytes, none saved"
for type in f16 bf16; do
	run "$type" 2 2
	bytes=$(sent tx-bytes) saved=$(sent tx-saved)
	# What compares the results has 4 bytes in any case: 4 of ops + 5 vectors.
	echo "$bytes bytes, $saved saved, $full as f32" >>"$log"
	((saved > 0 && bytes + saved > full - full / 50 && bytes + saved < full + full / 50 &&
	  saved > full * ops / (ops + 5) * 45 / 100))
	ok $? "$type: $bytes bytes, $saved saved"
done
finish
