# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by scripts that run programs of MPI, after lib.sh.

# The processes of a test are more than the CPUs: an MPI that only polls would take forever.
export MPIR_CVAR_POLLS_BEFORE_YIELD=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
ip link set lo up
build=${COLL_TEST_BUILD:?}
seed=${COLL_TEST_SEED:-$RANDOM}
lib=$top/.build/lib
each=(sh -c "$to_a_file" "$log")

# calls LOG: how many calls of all ranks went through coll, and why others went to the MPI
calls()
{
	awk -F ': |, ' '
	/^coll_mpi: rank/ {
		for (i = 4; i <= NF; i++) {
			n = $i
			sub(/.* /, "", n)
			why = substr($i, 1, length($i) - length(n) - 1)
			sub(/^ +/, "", why)
			if (why == "taken") {
				taken += n
				continue
			}
			left += n
			if (!(why in of))
				order[nr++] = why
			of[why] += n
		}
	}
	END {
		printf "calls through coll: %d, to the MPI: %d", taken, left
		for (i = 0; i < nr; i++)
			printf "%s%s %d", i ? ", " : " (", order[i], of[order[i]]
		print nr ? ")" : ""
		exit !taken
	}' "$1"
}

# launch KIND RANKS [VARIABLE=VALUE...] PROGRAM ARGUMENTS: without the library
launch()
{
	apart "$log" timeout -k 5 "${limit:-250}" "mpirun.$1" -n "$2" "${each[@]}" env "${@:3}"
}

# preloaded KIND RANKS ...: with it
preloaded()
{
	launch "$1" "$2" LD_PRELOAD="$lib/libcoll_mpi_$1.so" COLL_MPI_STATS=1 COLL_MPI_MIN=0 "${@:3}"
}

# taken FUNCTION RANKS COUNT: coll did COUNT calls of FUNCTION on each rank, and no others
taken()
{
	[[ $(grep -c "^coll_mpi: rank [0-9]*: $1: taken $3\$" "$log") == "$2" ]]
}

# A user who may lock no memory.
poor=(prlimit --memlock=0 setpriv --bounding-set=-ipc_lock)

# Node of a rank: there are two of them for coll, and one for the MPI.
# shellcheck disable=SC2016  # the rank's shell expands it
two_nodes=(sh -c 'export COLL_NODE=$((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} % 2)); exec "$@"' sh)
