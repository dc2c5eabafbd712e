#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Jobs that others than collrun have started: mpirun, torchrun's variables, an exchange of
# the application's own. What a user is told where that cannot work.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

sum=$top/.build/tools/allreduce
rank=${COLL_TEST_BUILD:?}/launch_rank
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"; kill $(jobs -p) 2>/dev/null' EXIT
ip link set lo up

# sums SIZE LOG: each rank of SIZE has printed the sum once, and nothing else
sums()
{
	local r n=$(($1 * ($1 + 1) / 2))

	for ((r = 0; r < $1; r++)); do
		[[ $(grep -c "^rank $r of $1: the sum is $n$" "$2") == 1 ]] || return
	done
	[[ $(grep -c . "$2") == "$1" ]]
}

# launched NAME PROGRAM OPTION...
launched()
{
	if ! command -v "$2" >/dev/null; then
		skip "$1" "no $2"
		return
	fi
	apart "$log" timeout -k 5 120 "${@:2}" sh -c "$to_a_file" "$log" "$sum" && sums 4 "$log"
	ok $? "$1"
}

# forks NAME PROGRAM OPTION...: a child of a rank ends, and the rank goes on
forks()
{
	if ! command -v "$2" >/dev/null; then
		skip "$1: a child ends" "no $2"
		return
	fi
	apart "$log" timeout -k 5 120 "${@:2}" sh -c "$to_a_file" "$log" \
		"$COLL_TEST_BUILD/launch_fork" &&
		[[ $(grep -c "^ok$" "$log") == 2 ]]
	ok $? "$1: a child ends"
}

# occupied PORT...: somebody else listens there
occupied()
{
	python3 -c '
import signal, socket, sys
held = [socket.create_server(("", int(p))) for p in sys.argv[1:]]
print("ready", flush=True)
signal.pause()' "$@" >"$tmp/occupied" &
	until grep -q ready "$tmp/occupied"; do sleep 0.1; done
}

torch()
{
	local r pids=() status=0

	occupied 29500 29501
	for r in 0 1 2 3; do
		RANK=$r WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \
			TORCHELASTIC_RUN_ID=any "$sum" >"$tmp/$r" 2>&1 </dev/null &
		pids+=($!)
	done
	for r in "${pids[@]}"; do
		wait "$r" || status=1
	done
	cat "$tmp"/[0-3] >"$log"
	((status == 0)) && sums 4 "$log"
	ok $? "torchrun's variables; others have the first two ports"
}

# torchrun as the only process of another launcher, whose variables its processes inherit
torch_inside()
{
	if ! command -v mpirun.mpich >/dev/null; then
		skip "torchrun inside mpirun" "no mpirun.mpich"
		skip "two launchers disagree" "no mpirun.mpich"
		return
	fi
	# shellcheck disable=SC2016 # the inner shell expands it
	timeout -k 5 120 mpirun.mpich -n 1 env WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29600 \
		TORCHELASTIC_RUN_ID=any bash -c '
		for r in 0 1 2 3; do RANK=$r "$0" & done
		wait' "$sum" >"$log" 2>&1 </dev/null && sums 4 "$log"
	ok $? "torchrun inside mpirun"
	timeout -k 5 120 mpirun.mpich -n 1 env RANK=0 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 \
		MASTER_PORT=29600 "$sum" >"$log" 2>&1 </dev/null
	grep -q "WORLD_SIZE is 4, but by PMI (PMI_FD) there are 1 ranks" "$log"
	ok $? "two launchers disagree"
}

# exchange NAME EXPECTED [MODE]: 4 ranks, 2 nodes; all of them print EXPECTED
exchange()
{
	local r bad=0 pids=()

	rm -rf "$tmp/files"
	mkdir "$tmp/files"
	for r in 0 1 2 3; do
		COLL_NODE=$((r / 2)) timeout 60 "$rank" "$tmp/files" $r 4 "${@:3}" \
			>"$tmp/$r" 2>&1 </dev/null &
		pids+=($!)
	done
	for r in "${pids[@]}"; do
		wait "$r"
		# 1: the error that is wanted
		(($? <= 1)) || bad=1
	done
	cat "$tmp"/[0-3] >"$log"
	((!bad)) && [[ $(grep -c -- "$2" "$log") == 4 ]]
	ok $? "$1"
}

# told NAME TEXT VARIABLE=VALUE...: an error with that text
told()
{
	env "${@:3}" "$sum" >"$log" 2>&1 </dev/null
	(($? == 1)) && grep -q -- "$2" "$log"
	ok $? "$1"
}

# A user who may not open the device is told its mode and group.
not_permitted()
{
	local before

	before=$(stat -c %a /dev/coll)
	chmod 0600 /dev/coll
	setpriv --reuid 65534 --regid 65534 --clear-groups "$sum" >"$log" 2>&1 </dev/null
	(($? == 1)) && grep -q "/dev/coll: Permission denied; its mode is 0600, its group root (0)" "$log"
	ok $? "the device is not permitted"
	chmod "$before" /dev/coll
}

plan 20
launched "mpirun of Open MPI" mpirun.openmpi --allow-run-as-root --oversubscribe -n 4
launched "mpirun of MPICH" mpirun.mpich -n 4
forks "mpirun of Open MPI" mpirun.openmpi --allow-run-as-root --oversubscribe -n 2
forks "mpirun of MPICH" mpirun.mpich -n 2
torch
torch_inside
exchange "an exchange of one's own" "^ok$"
exchange "the same with a key" "^ok$" secret
exchange "an exchange that fails" "^error -100: coll_config.exchange: Network is down$" --fail
exchange "an exchange that brings something else" "^error -" --garble
told "RANK alone" "RANK and WORLD_SIZE are set, but MASTER_ADDR is not" RANK=1 WORLD_SIZE=4
told "WORLD_SIZE alone" "WORLD_SIZE is 4, .* RANK is missing" WORLD_SIZE=4
told "srun without PMI" "SLURM_NTASKS is 4, .* srun --mpi=pmi" SLURM_NTASKS=4
told "PMI_FD is not open" "PMI_FD is 99, which is not open" PMI_FD=99 PMI_RANK=1 PMI_SIZE=2
told "a rank out of range" 'COLL_RANK is "4", not a number from 0 to 3' COLL_RANK=4 COLL_SIZE=4
told "no rank" "COLL_SIZE is set, but COLL_RANK is not" COLL_SIZE=4
told "no key" "COLL_KEY is not set, but there are 2 ranks" COLL_SIZE=2 COLL_RANK=0 \
	COLL_RENDEZVOUS=127.0.0.1:7000
told "no device" "/dev/nothing: No such file or directory; is the module coll loaded?" \
	COLL_DEVICE=/dev/nothing
not_permitted
finish
