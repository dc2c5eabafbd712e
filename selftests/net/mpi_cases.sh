#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of MPI with the library preloaded, each of which has one subject: what it is about is in
# the program.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/mpi_lib.sh
. "$(dirname "$0")/mpi_lib.sh"

# did FUNCTION RANKS: each rank did a call of FUNCTION through coll
did()
{
	(($(grep -c "^coll_mpi: rank [0-9]*: $1: taken [1-9]" "$log") == $2))
}

# program KIND RANKS FUNCTION NAME [COMMAND...] PROGRAM [ARGUMENT...]: it says that all is right,
# and FUNCTION went through coll
program()
{
	preloaded "$1" "$2" "${@:5}" && grep -q "^right" "$log" && did "$3" "$2"
	ok $? "$1, $2 ranks: $4"
}

# progress KIND. COLL_SHM: coll could do small collectives in shared memory, on any number of CPUs
progress()
{
	local run=(COLL_SHM=1 "$build/mpi_progress_$1")

	program "$1" 2 MPI_Iallreduce "a queued collective ends without calls" "${run[@]}" queued
	program "$1" 2 MPI_Iallgatherv "a collective in two ways ends without calls" "${run[@]}" order
	program "$1" 2 MPI_Start "a persistent one ends without calls" "${run[@]}" persistent
}

# sums KIND RANKS: all ranks have the sum, and coll did it
sums()
{
	taken MPI_Allreduce "$2" 1 &&
		[[ $(grep -c "of $2: the sum is $(($2 * ($2 + 1) / 2))" "$log") == "$2" ]]
}

# f08 KIND: programs of the module mpi_f08 alone, and one of them beside a program of C
f08()
{
	local with=(env LD_PRELOAD="$lib/libcoll_mpi_$1.so" COLL_MPI_STATS=1 COLL_MPI_MIN=0)

	if [[ ! -x $build/mpi_sum_f08_$1 ]]; then
		for _ in {1..4}; do skip "$1: mpi_f08" "no mpif90.$1"; done
		return
	fi
	preloaded "$1" 2 "$build/mpi_sum_f08_$1" && sums "$1" 2
	ok $? "$1, 2 ranks: mpi_f08"
	preloaded "$1" 2 "$build/mpi_sum_f08_$1" threads && sums "$1" 2
	ok $? "$1, 2 ranks: mpi_f08, MPI_Init_thread"
	launch "$1" 1 "${with[@]}" "$build/mpi_sum_$1" : \
		-n 1 "${with[@]}" "$build/mpi_sum_f08_$1" && sums "$1" 2
	ok $? "$1, 2 ranks: C on one, mpi_f08 on the other"
	program "$1" 2 MPI_Start "mpi_f08, errors in statuses" "$build/mpi_errors_f08_$1"
}

# types KIND
types()
{
	program "$1" 2 MPI_Bcast "types by precision and range" "$build/mpi_types_$1" f90
	program "$1" 2 MPI_Bcast "types with attributes" "$build/mpi_types_$1" attributes
}

# large KIND: what MPI has for counts beyond int
large()
{
	local n

	if ! "$build/mpi_types_$1" has-large; then
		for _ in {1..3}; do skip "$1: large counts" "MPI before 4.0"; done
		return
	fi
	program "$1" 2 MPI_Bcast "types with large counts" "$build/mpi_types_$1" large
	for n in 2 3; do
		# No line has a reason why a call went to the MPI.
		preloaded "$1" $n "$build/mpi_counts_$1" && grep -q "^right" "$log" &&
			! grep -q "^coll_mpi: rank.*, " "$log" && taken MPI_Gatherv_init $n 2
		ok $? "$1, $n ranks: some with large counts, others without"
	done
}

# many KIND: with many communicators half of the files are left to the program
many()
{
	preloaded "$1" 2 prlimit --nofile=256 "$build/mpi_many_$1" && grep -q "^right" "$log" &&
		did MPI_Ibarrier 2 &&
		(($(grep -c "MPI_Barrier: .*no communicator of coll [1-9]" "$log") == 2))
	ok $? "$1, 2 ranks: more communicators than files"
}

# threads KIND: memory that has been freed is filled with other bytes
threads()
{
	program "$1" 2 MPI_Start "two threads ask for one request" MALLOC_PERTURB_=165 \
		GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "$build/mpi_threads_$1"
}

# wrong KIND: Open MPI does not know that a communicator has been freed
wrong()
{
	if [[ $1 == openmpi ]]; then
		skip "$1: a communicator that has been freed" "undefined"
		return
	fi
	program "$1" 2 MPI_Allgather "a communicator that has been freed" "$build/mpi_wrong_$1"
}

# own KIND: the MPI underneath would write beyond the array, too
own()
{
	program "$1" 2 MPI_Scatterv "two lengths of one block" "$build/mpi_own_$1"
}

# pairs KIND
pairs()
{
	program "$1" 2 MPI_Scan "gaps in pairs" "$build/mpi_pairs_$1"
}

# waits KIND: what does not block goes to the MPI
waits()
{
	preloaded "$1" 2 "$build/mpi_waits_$1" && grep -q "^right" "$log" && did MPI_Allreduce 2 &&
		(($(grep -c "MPI_Iallreduce: .*waits outside 1" "$log") == 2))
	ok $? "$1, 2 ranks: waits of the program's own"
}

# elements KIND
elements()
{
	preloaded "$1" 2 "$build/mpi_elements_$1" && grep -q "^right" "$log" &&
		(($(grep -c "MPI_Allreduce: .*operator or type 1" "$log") == 2))
	ok $? "$1, 2 ranks: large elements"
}

# sessions KIND: without MPI_Init() all calls go to the MPI
sessions()
{
	if ! "$build/mpi_types_$1" has-large; then
		skip "$1: sessions" "MPI before 4.0"
		return
	fi
	preloaded "$1" 2 "$build/mpi_sessions_$1" && grep -q "^right" "$log"
	ok $? "$1, 2 ranks: sessions"
}

# all KIND
all()
{
	if [[ ! -x $build/mpi_progress_$1 ]]; then
		for _ in {1..20}; do skip "$1" "no mpicc.$1"; done
		return
	fi
	progress "$1"
	f08 "$1"
	types "$1"
	large "$1"
	many "$1"
	threads "$1"
	wrong "$1"
	own "$1"
	pairs "$1"
	waits "$1"
	elements "$1"
	sessions "$1"
}

plan 40
all mpich
all openmpi
finish
