#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every operator on every type, within a kernel and through links, every bit checked.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# One element of the largest type, an odd number of them, and more than one segment;
# where it takes forever, just some.
all=(-d all -o all -w 0 -b 40 -e "$(largest 400K 2K)" -f "$(largest 100 50)" -n "$(largest 2 1)")
few=(-d all -o all -w 0 -b "$(largest 200 1000)" -e "$(largest 20K 1000)" -f 100 -n 1)

# pairs NAME: collperf has printed rows for as many pairs as it said
pairs()
{
	local want have

	want=$(sed -n 's/^# \([0-9]*\) pairs of type and operator$/\1/p' "$log")
	have=$(awk '/^ *[0-9]/ { print $3, $4 }' "$log" | sort -u | wc -l)
	((want > 200 && have == want))
	ok $? "$1: $have pairs"
}

# refused NAME OPTIONS: ends with status 2, and says what is not defined
refused()
{
	local name=$1 status

	shift
	"$tools/collperf" allreduce "$@" >"$log" 2>&1 </dev/null
	status=$?
	((status == 2)) && grep -q "is not defined on" "$log"
	ok $? "$name"
}

plan 12
perf "all, 4 ranks, 1 node" -n 4 -- allreduce "${all[@]}"
pairs "all, 4 ranks, 1 node"
perf "all, 6 ranks, 3 nodes" -n 6 --nodes 3 -- allreduce "${all[@]}"
pairs "all, 6 ranks, 3 nodes"
perf "all, 4 ranks, 3 nodes, ioctl, in place" -n 4 --nodes 3 -- allreduce "${few[@]}" --ioctl --inplace
perf "all, 3 ranks, 3 nodes, registered" -n 3 --nodes 3 -- allreduce "${few[@]}" --registered
perf "all, 1 rank" -n 1 -- allreduce "${few[@]}"
perf "broadcast of all types" -n 6 --nodes 3 -- broadcast "${all[@]}" -r 4
# more than one call of a kernel takes, where there is the time
many=$(largest 70 9)
perf "all, $many ranks, 1 node" -n "$many" -- allreduce "${few[@]}" -e 1000
refused "min of complex numbers is refused" -d c32 -o min
refused "sum of bool is refused" -d bool -o sum
refused "sum_exact of f16 is refused" -d f16 -o sum_exact
finish
