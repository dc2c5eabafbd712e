#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Named tensors by the library: random orders of each rank, errors of one tensor, threads,
# two communicators at the same time, ranks that leave or are killed.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/tensor_rank
cancer=$tools/examples/data/breast_cancer.csv
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
seed=${COLL_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
steps=$(largest 500 50)
kills=$(largest 300 10)
worlds='1:1 2:1 4:1 2:2 4:2 6:3'
nr_worlds=$(wc -w <<<"$worlds")

# ranks WORLD ARGUMENTS
ranks()
{
	local world=$1

	shift
	"$tools/collrun" -k -t 300 -n "${world%:*}" --nodes "${world#*:}" "$rank" "$@" \
		>"$log" 2>&1 </dev/null
}

# both NAME WHAT STEPS: on one node and on two
both()
{
	local world

	for world in 4:1 4:2; do
		ranks "$world" "$2" "$seed" "$3"
		ok $? "$1, ${world#*:} nodes, seed $seed"
	done
}

test_orders()
{
	local world

	for world in $worlds; do
		ranks "$world" orders "$seed" 5
		ok $? "random orders, ${world%:*} ranks, ${world#*:} nodes, seed $seed"
	done
	ranks 4:2 orders "$seed" "$steps" && grep -q ": 0 wrong" "$log"
	ok $? "200 tensors, $steps steps, 4 ranks, 2 nodes: 0 wrong, seed $seed"
}

# Each time all three survivors are told, and by whom.
test_kill()
{
	local k told

	for ((k = 0; k < kills; k++)); do
		ranks 4:2 kill $((seed + k))
		told=$(grep -c ": told$" "$log")
		if ((told != 3)); then
			echo "seed $((seed + k)): $told of 3 were told" >>"$log"
			break
		fi
	done
	((k == kills))
	ok $? "kill -9 of a random rank, $kills times: all that is pending ends, seed $seed"
}

# The same weights to the last bit, whatever the ranks and the order of posts.
test_mlp()
{
	local world

	"$tools/collrun" -t 200 -n 1 "$top/.build/tools/mlp" "$cancer" >"$work/one" 2>"$log" \
		</dev/null && awk '/^step/ { loss[++n] = $4 + 0 }
		END { exit !(n == 5 && loss[5] < loss[1] && loss[5] < 0.3) }' "$work/one"
	ok $? "a network learns: $(tail -n 2 "$work/one" | head -n 1)"
	for world in 1:1 2:1 2:2 4:1 4:2; do
		"$tools/collrun" -t 200 -n "${world%:*}" --nodes "${world#*:}" \
			"$top/.build/tools/mlp" "$cancer" >"$work/got" 2>"$log" </dev/null &&
			grep -q '^weights [0-9a-f]*$' "$work/got" &&
			cmp "$work/one" "$work/got" >>"$log" 2>&1
		ok $? "a network: the same bits on ${world%:*} ranks, ${world#*:} nodes"
	done
}

plan $((nr_worlds + 1 + 2 * 6 + 1 + 6))
echo "# seed $seed"
test_orders
both "six types, three shapes" forms 1
both "errors of one tensor" errors 1
both "four threads, callbacks" threads 10
both "two communicators" sets 1
both "1500 names in one call" names 5
both "a rank leaves" left 1
test_kill
test_mlp
finish
