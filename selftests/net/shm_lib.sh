# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by tests of shared memory, after lib.sh: runs of shm_rank. $nodes: number of nodes, if
# there are several.

rank=${COLL_TEST_BUILD:?}/shm_rank
seed=${COLL_TEST_SEED:-$RANDOM}
rounds=$(largest 20 3)

# well NAME RANKS MODE [VICTIM]: every rank says that all was as it should be, and ends well
well()
{
	local status want=0

	[[ $3 != kill && $3 != early ]] || want=137	# 128 + SIGKILL
	COLL_SHM=${shm-1} "$tools/collrun" -t 200 -k -n "$2" ${nodes:+--nodes "$nodes"} \
		"$rank" "$3" "$seed" "${@:4}" >"$log" 2>&1 </dev/null
	status=$?
	echo "status $status" >>"$log"
	((status == want && $(grep -c 'is well$' "$log") == $2 - ${dead:-0}))
}

# once NAME RANKS MODE [VICTIM]
once()
{
	well "$@"
	ok $? "$1, $2 ranks${nodes:+ on $nodes nodes}"
}

# often NAME RANKS MODE [VICTIM]: with a seed of its own each time
often()
{
	local i bad=0

	for ((i = 0; i < rounds && !bad; i++)); do
		well "$@" || bad=1
		seed=$((seed + 1))
	done
	ok $bad "$1, $2 ranks${nodes:+ on $nodes nodes}"
}
