#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collperf: every collective, checked, in and out of place; what it prints, and the words of
# nccl-tests.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

all="broadcast reduce allreduce reduce_scatter reduce_scatter_block allgather allgatherv gather
	gatherv scatter scatterv alltoall alltoallv scan exscan"
few=(-n 2 -w 1 -c 1)
json=$(mktemp)
trap 'rm -f "$log" "$json"' EXIT

# each NAME COLLRUN-OPTIONS -- COLLPERF-OPTIONS: all collectives, each right
each()
{
	local name=$1 run=() what status=0

	shift
	while [[ $1 != -- ]]; do
		run+=("$1")
		shift
	done
	shift
	for what in $all; do
		"$tools/collrun" -t 200 "${run[@]}" "$tools/collperf" "$what" "${few[@]}" "$@" \
			>"$log" 2>&1 </dev/null && right "$log" && continue
		echo "$what is wrong" >>"$log"
		status=1
		break
	done
	ok $status "$name"
}

# run COLLECTIVE OPTIONS: 4 ranks on one node, to the log
run()
{
	"$tools/collrun" -t 100 -n 4 "$tools/collperf" "$@" "${few[@]}" >"$log" 2>&1 </dev/null
}

# factor COLLECTIVE VALUE: busbw is algbw times so much
factor()
{
	run "$1" -b 1M -e 1M --json >/dev/null
	awk -v want="$2" '
		match($0, /"algbw": [0-9.e+-]+/) { alg = substr($0, RSTART + 9, RLENGTH - 9) }
		match($0, /"busbw": [0-9.e+-]+/) { bus = substr($0, RSTART + 9, RLENGTH - 9) }
		END { exit !(alg > 0 && bus / alg > want - 0.01 && bus / alg < want + 0.01) }' "$log"
	ok $? "$1 of 4 ranks: bus bandwidth is $2 times the other"
}

# path SHM WORDS OPTIONS: the head says it
path()
{
	local shm=$1 words=$2

	shift 2
	COLL_SHM=$shm run allreduce -b 8 -e 8 "$@" && grep -q "^# path: $words" "$log"
	ok $? "COLL_SHM=$shm $*: \"$words\""
}

max=$(largest 1M 64K)
plan 28
each "4 ranks, 1 node, ioctl" -n 4 -- -b 4 -e "$max" -f 37 --ioctl
each "3 ranks, 1 node, io_uring, root 2" -n 3 -- -b 4 -e "$max" -f 37 -r 2
each "5 ranks, 3 nodes, registered" -n 5 --nodes 3 -- -b 4 -e "$max" -f 113 --registered -r 1
each "1 rank" -n 1 -- -b 4 -e 4K -f 37
each "3 ranks, 2 nodes, 4 ops at a time" -n 3 --nodes 2 -- -b 1K -e 64K -f 8 -m 4
each "4 ranks, two numbers an element" -n 4 -- -b 4 -e 4K -f 37 -d c64
each "4 ranks, elements with padding" -n 4 -- -b 4 -e 4K -f 37 -d i16_i32 -o maxloc
for what in scan exscan reduce reduce_scatter_block; do
	run "$what" -d all -o all -b 1000 -e 1000 -n 1 -w 0 && right "$log"
	ok $? "$what of all types and operators"
done
factor allreduce 1.5
factor reduce_scatter_block 0.75
factor allgather 0.75
factor alltoall 0.75
factor gather 0.75
factor broadcast 1
factor reduce 1
path 1 "shared memory, where" --ioctl
path 0 "ioctl" --ioctl
path 0 "io_uring"

# Whatever the clock is, the iterations take most of the time that collperf takes.
clock()
{
	local begin end

	begin=$(date +%s%N)
	"$tools/collrun" -t 200 -n 1 "$tools/collperf" allreduce -b 4M -e 4M -n 200 -w 0 -c 0 \
		--outofplace --ioctl >"$log" 2>&1 </dev/null
	end=$(date +%s%N)
	grep -q '^# clock: ' "$log" && awk -v wall=$(((end - begin) / 1000)) '
		/^ *[0-9]/ { all = 200 * $6 }
		END { exit !(all < wall && all > wall / 20) }' "$log"
}
clock || clock || clock
ok $? "a clock of the right rate"

run allreduce -g 1 -b 8 -e 24 -i 8 -N 2 -T 60 -a 1 -d float &&
	[[ $(awk '/^ *[0-9]/ { print $1, $3 }' "$log" | xargs) == "8 f32 16 f32 24 f32 8 f32 16 f32 24 f32" ]] &&
	grep -q "^# Avg bus bandwidth    : [0-9.]" "$log"
ok $? "-g 1, -i, -N, -T, -a, float"
status=0
for pair in half:f16 bfloat16:bf16 double:f64 uint8:u8; do
	run allreduce -b 8 -e 8 -d "${pair%:*}" || status=1
	awk -v t="${pair#*:}" '$3 == t { n++ } END { exit !n }' "$log" || status=1
done
ok $status "half, bfloat16, double, uint8"
run allgather -b 8 -e 1K -f 128 --minmax -J "$json" && awk '
	# minimum, mean and maximum of each place
	/^ *[0-9]/ { n++; bad += $7 > $8 || $8 > $9 || $14 > $15 || $15 > $16 || NF != 19 }
	END { exit n != 2 || bad }' "$log"
ok $? "shortest, mean and longest time of the ranks"
if command -v python3 >/dev/null; then
	python3 - "$json" <<-'END' >>"$log" 2>&1
	import json, sys
	with open(sys.argv[1]) as f:
	    d = json.load(f)
	assert d["collective"] == "allgather" and d["ranks"] == 4 and d["wrong"] == 0, d
	assert not d["persistent"] and d["algorithm"] is None and d["segment"] is None, d
	assert [r["size"] for r in d["results"]] == [16, 1024], d
	for r in d["results"]:
	    for p in (r["out_of_place"], r["in_place"]):
	        assert p["min_us"] <= p["mean_us"] <= p["max_us"] and p["wrong"] == 0, p
	END
	ok $? "JSON"
else
	skip "JSON" "no python3"
fi
! run allreduce -g 2 && grep -q "a rank is one thread" "$log" && ! run nothing &&
	grep -q 'unknown collective "nothing"' "$log" &&
	! run sendrecv -m 2 && grep -q "sendrecv takes no --agg_iters" "$log" &&
	! run barrier --ioctl --persistent && grep -q "either blocking or started" "$log" &&
	! run allreduce -i 8 -f 2 && grep -q "by -i or by -f" "$log" &&
	! run allreduce -s 2M && grep -q 'bad argument "2M"' "$log" &&
	! COLL_ALGORITHM_ALLREDUCE=rng run allreduce && grep -q "ALLREDUCE=rng: no such algorithm" "$log"
ok $? "what is not to be had is refused"
! run allreduce -J /nowhere/file && grep -q "/nowhere/file: No such file" "$log"
ok $? "a file that cannot be written is an error"
finish
