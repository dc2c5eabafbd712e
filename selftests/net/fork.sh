#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A rank forks while it has nonblocking commands, or named tensors: the child gets errors, and does
# no harm.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/fork_rank

# once NAME COLLRUN-OPTION... -- MODE
once()
{
	local name=$1 run=()

	shift
	while [[ $1 != -- ]]; do
		run+=("$1")
		shift
	done
	"$tools/collrun" -t 120 -n 2 "${run[@]}" "$rank" "$2" >"$log" 2>&1 </dev/null
	ok $? "$name"
}

plan 11
for way in "" ", by ioctl"; do
	env=(-e COLL_SHM=1)
	[[ -z $way ]] || env+=(-e COLL_NO_URING=1)
	once "a child calls$way" "${env[@]}" -- calls
	once "a child ends the communicator, another thread waits$way" "${env[@]}" -- thread
	once "a child ends the communicator, nothing is under way$way" "${env[@]}" -- idle
	once "a child has a communicator of its own$way" "${env[@]}" -- own
done
rank=$COLL_TEST_BUILD/tensor_fork_rank
once "named tensors: another thread waits" -- wait
once "named tensors: a thread of the library takes results" -- thread
once "named tensors: nobody waits" -- idle
finish
