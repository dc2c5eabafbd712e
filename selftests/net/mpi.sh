#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of MPI as they are, with the library for their MPI preloaded: results are those of
# the MPI itself, calls went through coll, and messages of the MPI move while coll works.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/mpi_lib.sh
. "$(dirname "$0")/mpi_lib.sh"

# all forms of all collectives come in 66 cases
cases=300
((${COLL_TEST_SCALE:-100} >= 100)) || cases=70

# every_persistent RANKS: coll did each persistent collective on each rank, and each was started
every_persistent()
{
	local f

	for f in Bcast Reduce Allreduce Reduce_scatter Reduce_scatter_block Gather Gatherv Scatter \
		Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Scan Exscan; do
		(($(grep -c "^coll_mpi: rank [0-9]*: MPI_${f}_init: taken [1-9]" "$log") == $1)) ||
			return
	done
	(($(grep -c "^coll_mpi: rank [0-9]*: MPI_Start: taken [1-9]" "$log") == $1))
}

# through FUNCTION...: went through coll. A call may have had no bytes in any case of a few.
through()
{
	local f

	for f; do
		grep -Eq "MPI_$f: taken ([1-9]|0, no bytes)" "$log" || return
	done
}

# sum KIND RANKS
sum()
{
	preloaded "$1" "$2" "$build/mpi_sum_$1" && taken MPI_Allreduce "$2" 1 &&
		[[ $(grep -c "of $2: the sum is $(($2 * ($2 + 1) / 2))" "$log") == "$2" ]]
	ok $? "$1, $2 ranks: the sum"
}

# results KIND RANKS NAME [VARIABLE=VALUE...] [COMMAND...]
results()
{
	preloaded "$1" "$2" "${@:4}" "$build/mpi_rank_$1" results "$seed" "$cases" &&
		grep -q "^right" "$log" && through Alltoallv Ibcast && every_persistent "$2"
	ok $? "$1, $2 ranks, seed $seed: results are those of the MPI$3"
}

# strange KIND RANKS
strange()
{
	preloaded "$1" "$2" "$build/mpi_rank_$1" strange "$seed" "$cases" &&
		grep -q "^right" "$log" && through Alltoallv Ibcast
	ok $? "$1, $2 ranks, seed $seed: buffers that cannot be pinned"
}

# mixed KIND RANKS
mixed()
{
	preloaded "$1" "$2" "$build/mpi_rank_$1" mixed "$seed" && grep -q "^right" "$log" &&
		grep -q "MPI_Barrier: taken [1-9]" "$log"
	ok $? "$1, $2 ranks, seed $seed: messages in all orders with collectives"
}

# left KIND: without the device, and for few bytes, the MPI does it all
left()
{
	preloaded "$1" 2 COLL_DEVICE=/dev/nothing "$build/mpi_sum_$1" &&
		grep -q "MPI_Allreduce: taken 0, no communicator of coll 1" "$log"
	ok $? "$1: no device, no coll"
	preloaded "$1" 2 COLL_MPI_MIN=5 "$build/mpi_sum_$1" &&
		grep -q "MPI_Allreduce: taken 0, slower 1" "$log"
	ok $? "$1: COLL_MPI_MIN"
	# Whatever the limit is, it is the same on all ranks.
	preloaded "$1" 4 COLL_MPI_MIN= "$build/mpi_rank_$1" results "$seed" "$cases" &&
		grep -q "^right" "$log"
	ok $? "$1, 4 ranks, seed $seed: a limit that is measured"
}

# fortran KIND
fortran()
{
	if [[ ! -x $build/mpi_fortran_$1 ]]; then
		skip "$1: Fortran" "no mpif90.$1"
		skip "$1: Fortran that comes later" "no mpif90.$1"
		return
	fi
	preloaded "$1" 4 "$build/mpi_fortran_$1" && grep -q "^right" "$log" &&
		taken MPI_Allreduce 4 2 && taken MPI_Bcast 4 1 && taken MPI_Allgatherv 4 1 &&
		taken MPI_Iallreduce 4 11 && taken MPI_Ibarrier 4 10 && taken MPI_Ibcast 4 9 &&
		taken MPI_Alltoallw 4 1 && taken MPI_Barrier 4 1 &&
		taken MPI_Allreduce_init 4 2 && taken MPI_Alltoallw_init 4 1 && taken MPI_Start 4 22
	ok $? "$1, 4 ranks: Fortran"
	preloaded "$1" 3 "$build/mpi_loaded_$1" "$build/mpi_loaded_f_$1.so" &&
		grep -q "^right" "$log" && taken MPI_Iallreduce 3 1
	ok $? "$1, 3 ranks: Fortran that comes later"
}

# all KIND
all()
{
	if [[ ! -x $build/mpi_rank_$1 ]]; then
		for _ in {1..15}; do skip "$1" "no mpicc.$1"; done
		return
	fi
	sum "$1" 2
	sum "$1" 4
	results "$1" 2 ""
	results "$1" 4 ""
	results "$1" 4 ", 2 nodes" "${two_nodes[@]}"
	results "$1" 4 ", by ioctl" COLL_NO_URING=1
	results "$1" 4 ", without locked memory" "${poor[@]}"
	strange "$1" 4
	mixed "$1" 2
	mixed "$1" 4
	left "$1"
	fortran "$1"
}

plan 30
echo "# COLL_TEST_SEED=$seed"
all mpich
all openmpi
finish
