#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The backend "coll" of torch.distributed: every collective against a reference, models trained
# by DistributedDataParallel against those of gloo, gradients by name, what ranks see when one is
# missing, and waits that depend on each other.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
package=$top/.build/lib/python3/dist-packages
rank=$top/selftests/net/torch_rank.py
waits=$top/selftests/net/torch_waits.py
optimizers=$top/selftests/net/torch_optimizers.py
seed=${COLL_TEST_SEED:-$RANDOM}
tests=29
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"' EXIT

export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
ip link set lo up

# ranks MODE RANKS NODES [VARIABLE=VALUE...]: one process each; $status of each in the array
ranks()
{
	local r pids=()

	rm -f "$tmp/store"
	statuses=()
	for ((r = 0; r < $2; r++)); do
		env RANK=$r WORLD_SIZE="$2" COLL_NODE=$((r * $3 / $2)) INIT="file://$tmp/store" \
			"${@:4}" timeout -k 5 400 "$python" "$rank" "$1" "$seed" \
			>"$tmp/out.$r" 2>&1 </dev/null &
		pids+=($!)
	done
	for r in "${!pids[@]}"; do
		wait "${pids[r]}"
		statuses+=($?)
	done
	for ((r = 0; r < $2; r++)); do
		echo "rank $r: status ${statuses[r]}"
		tail -n 12 "$tmp/out.$r"
	done >"$log"
}

# right_ranks NUMBER: so many have come to the end, and have ended well
right_ranks()
{
	[[ $(cat "$tmp"/out.* | grep -c '^right$') == "$1" &&
		$(printf '%s\n' "${statuses[@]}" | grep -c '^0$') == "$1" ]]
}

# good NAME MODE RANKS NODES ...
good()
{
	rm -f "$tmp"/out.*
	ranks "${@:2}"
	right_ranks "$3"
	ok $? "$1, $3 ranks, $4 nodes${5:+, ${*:5}}, seed $seed"
}

plan $tests
if [[ ! -d $package/coll_torch ]] || ! "$python" -c 'import torch' 2>/dev/null; then
	for ((i = 0; i < tests; i++)); do skip "torch" "python3-torch or libtorch-dev is not installed"; done
	finish
fi
if (($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) < 2000000)); then
	for ((i = 0; i < tests; i++)); do skip "torch" "less than 2 GB of memory"; done
	finish
fi

echo "# COLL_TEST_SEED=$seed"
good "every collective" everything 2 1
good "every collective" everything 4 2
good "every collective" everything 3 1 COLL_NO_URING=1
good "models as those of gloo" training 2 1
good "models as those of gloo" training 4 2
good "models as those of gloo" training 4 1
good "gradients by name" by_name 2 1
good "gradients by name" by_name 4 2
good "gradients by name" by_name 3 1
good "ranks with less data" uneven 2 1
good "ranks with less data" uneven 4 2
good "states of optimizers" states 2 1
good "states of optimizers" states 3 2
# as torchrun does it
good "by the environment" total 4 1 INIT=env:// MASTER_ADDR=127.0.0.1 MASTER_PORT=29511
good "a group of one rank" total 1 1
rm -f "$tmp"/out.*
ranks death 4 2
right_ranks 3 && [[ ${statuses[3]} == 137 ]]
ok $? "a rank that dies is named on the others, 4 ranks, 2 nodes"
rm -f "$tmp"/out.*
ranks death 2 1
right_ranks 1 && [[ ${statuses[1]} == 137 ]]
ok $? "a rank that dies is named on the others, 2 ranks, 1 node"
good "a rank that is late" late 3 1
good "a rank without the device" missing 3 1
good "a rank with a wrong variable" wrong 3 1
good "a closure that waits for gradients" closure 2 1
good "step() is left out" left_out 2 1
good "step() is left out" left_out 3 2
good "a child that was forked" forked 2 1
rank=$optimizers
good "which gradients are reduced" everything 2 1
good "which gradients are reduced" everything 3 2
rank=$waits
# COLL_SHM: coll could do small collectives in shared memory, on any number of CPUs
good "works end while a rank is elsewhere" elsewhere 2 1 COLL_SHM=1
good "callbacks that wait" callbacks 2 1
good "callbacks that wait" callbacks 3 2
finish
