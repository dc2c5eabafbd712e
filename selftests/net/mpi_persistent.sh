#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Persistent collectives of MPI with the library preloaded: each rank starts its requests in an order
# of its own.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/mpi_lib.sh
. "$(dirname "$0")/mpi_lib.sh"

rounds=36
((${COLL_TEST_SCALE:-100} >= 100)) || rounds=18

# started RANKS: coll did all starts of the program on each rank
started()
{
	local starts

	starts=$(sed -n 's/^right: .* \([0-9]*\) started$/\1/p' "$log")
	[[ $starts ]] && taken MPI_Start "$1" "$starts"
}

# persistent KIND RANKS NAME MODE [COMMAND...]
persistent()
{
	preloaded "$1" "$2" "${@:5}" "$build/mpi_persistent_$1" "$4" "$seed" "$rounds" &&
		started "$2"
	ok $? "$1, $2 ranks, seed $seed: persistent collectives, $3"
}

# more KIND RANKS: 70 persistent requests, and 63 of them are for coll; twice
more()
{
	preloaded "$1" "$2" "$build/mpi_persistent_$1" many "$seed" && grep -q "^right" "$log" &&
		(($(grep -c "MPI_Allreduce_init: taken 126, too many persistent ones 14" "$log") == $2)) &&
		taken MPI_Start "$2" 378
	ok $? "$1, $2 ranks, seed $seed: more persistent collectives than coll does"
}

# few_files KIND: ranks may open different numbers of files, and none can have all of the requests
few_files()
{
	local line="MPI_Allreduce_init: taken [0-9]*, too many persistent ones [0-9]*"

	# shellcheck disable=SC2016  # the rank's shell expands it
	preloaded "$1" 4 sh -c 'ulimit -n $((80 + 20 * ${PMI_RANK:-$OMPI_COMM_WORLD_RANK}))
		exec "$@"' sh "$build/mpi_persistent_$1" many "$seed" && grep -q "^right" "$log" &&
		! grep -q "MPI_Allreduce_init: taken 126" "$log" &&
		[[ $(grep -o "$line" "$log" | sort | uniq -c | awk '{ print $1 }') == 4 ]]
	ok $? "$1, 4 ranks, seed $seed: persistent collectives with few files"
}

# alone KIND: one rank is not for coll
alone()
{
	preloaded "$1" 1 "$build/mpi_persistent_$1" many "$seed" && grep -q "^right" "$log" &&
		grep -q "MPI_Allreduce_init: taken 0, one rank 140" "$log"
	ok $? "$1, 1 rank: persistent collectives"
}

# all KIND
all()
{
	if [[ ! -x $build/mpi_persistent_$1 ]]; then
		for _ in {1..11}; do skip "$1" "no mpicc.$1"; done
		return
	fi
	alone "$1"
	persistent "$1" 2 "in any order" order
	persistent "$1" 4 "in any order" order
	persistent "$1" 4 "in any order, 2 nodes" order "${two_nodes[@]}"
	persistent "$1" 4 "in any order, by ioctl" order COLL_NO_URING=1
	persistent "$1" 4 "in any order, without locked memory" order "${poor[@]}"
	more "$1" 2
	few_files "$1"
	persistent "$1" 2 "states of requests" odd
	persistent "$1" 4 "states of requests, 2 nodes" odd "${two_nodes[@]}"
	persistent "$1" 4 "errors" errors
}

plan 22
echo "# COLL_TEST_SEED=$seed"
all mpich
all openmpi
finish
