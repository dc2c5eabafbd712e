#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Named tensors by the library: random orders of each rank, errors of one tensor, threads,
# two communicators at the same time, ranks that leave, are stopped or are killed.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/tensor_rank
cancer=$tools/examples/data/breast_cancer.csv
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
seed=${COLL_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
# make check samples. COLL_TEST_SCALE=1000 takes 500 steps and 300 kills.
steps=$(largest 100 20)
kills=$(largest 30 5)
((${COLL_TEST_SCALE:-100} < 1000)) || { steps=500 kills=300; }
worlds='1:1 2:1 4:1 2:2 4:2 6:3'
((${COLL_TEST_SCALE:-100} >= 100)) || worlds='1:1 4:1 6:3'
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
	# The tuner changes what is fused between steps, and no result. How many settings it tries in
	# 20 steps depends on their times.
	COLL_TENSOR_TUNE=1 COLL_TENSOR_TUNE_LOG=$work/tuned ranks 4:2 orders "$seed" 20 &&
		grep -q ": 0 wrong" "$log" && cat "$work/tuned" >>"$log" &&
		(($(awk -F, 'NR > 1 { print $5 }' "$work/tuned" | sort -u | wc -l) >= 2))
	ok $? "20 steps with the tuner: 0 wrong, and settings are tried, seed $seed"
}

# stalled PATTERN: the tensor, and PATTERN in one of the two lines behind it
stalled()
{
	grep -A 2 '"fc1.grad" has waited' "$work/stalls" | grep -qE "^  $1\$"
}

# The last rank is stopped. Its node says so, and the agent names its node; so does the log.
test_stall()
{
	local job pid='' k good=1 logged

	logged='coll: group [0-9]+: tensor "fc1.grad" has waited [0-9]+ s for rank 3 \(pid [0-9]+, stopped\)'
	echo 1 >/sys/module/coll/parameters/stall_after
	"$tools/collrun" -t 100 -n 4 --nodes 2 "$rank" stall "$seed" >"$log" 2>&1 </dev/null &
	job=$!
	for ((k = 0; k < 300; k++)); do
		"$tools/collctl" stalls --age 1 >"$work/stalls" 2>>"$log"
		stalled "rank 3, pid [0-9]+: stopped" && stalled "rank 3 or others on node 1: run collctl stalls there" &&
			good=0 && break
		sleep 0.1
	done
	cat "$work/stalls" >>"$log"
	ok $good "collctl stalls names the rank that is stopped, and its node"
	"$tools/collctl" --json stalls >"$work/json" 2>>"$log" && python3 - "$work/json" <<-'END' >>"$log" 2>&1
		import json, sys
		rows = json.load(open(sys.argv[1]))["stalls"]
		mine = [r for r in rows if r["rank"] == 3 and r["name"] == "fc1.grad"]
		assert sorted(r["state"] for r in mine) == [1, 6], rows
		assert all(r["age-ns"] >= 10**9 and r["node"] == 1 for r in mine), rows
	END
	ok $? "collctl --json stalls"
	# The kernel's timer and this test's look at the list are two clocks.
	good=1
	for ((k = 0; k < 100; k++)); do
		dmesg | grep -E "$logged" >>"$log" && good=0 && break
		sleep 0.1
	done
	((!good)) || dmesg | grep "coll: " >>"$log"
	ok $good "the log names it"
	pid=$(sed -nE 's/^  rank 3, pid ([0-9]+): stopped$/\1/p' "$work/stalls")
	[[ $pid ]] && kill -CONT "$pid" 2>>"$log"
	wait "$job" && "$tools/collctl" stalls >"$work/stalls" && [[ ! -s $work/stalls ]]
	ok $? "all goes on with it, and nothing stalls"
	echo 60 >/sys/module/coll/parameters/stall_after
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

plan $((nr_worlds + 2 + 2 * 7 + 4 + 1 + 6))
echo "# seed $seed"
test_orders
both "six types, three shapes" forms 1
both "memory that is not registered any more" unregistered 1
both "errors of one tensor" errors 1
both "four threads, callbacks" threads 10
both "two communicators" sets 1
both "1500 names in one call" names 5
both "a rank leaves" left 1
test_stall
test_kill
test_mlp
finish
