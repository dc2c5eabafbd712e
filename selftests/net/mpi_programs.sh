#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of Debian with the library of Open MPI preloaded: their own checks, and how many of
# their calls went through coll. make check-programs installs them.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

lib=$top/.build/lib/libcoll_mpi_openmpi.so
input=/usr/share/doc/hpcc/examples/_hpccinf.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"' EXIT

export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip link set lo up

# preloaded RANKS PROGRAM ARGUMENTS
preloaded()
{
	(cd "$tmp" && timeout -k 5 600 mpirun.openmpi -n "$1" env LD_PRELOAD="$lib" \
		COLL_MPI_STATS=1 COLL_MPI_MIN=0 "${@:2}") >"$log" 2>&1 </dev/null
}

# how_many: say what went through coll, of all ranks
how_many()
{
	awk '/^coll_mpi: rank/ {
		for (i = 5; i <= NF; i++)
			if ($i ~ /^[0-9]+,?$/) {
				if ($(i - 1) == "taken")
					taken += $i
				else
					left += $i
			}
	} END { printf "# calls through coll: %d, to the MPI: %d\n", taken, left; exit !taken }' "$log"
}

mpi4py()
{
	if ! /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
		skip "mpi4py, $1 ranks" "python3-mpi4py is not installed"
		return
	fi
	preloaded "$1" /usr/bin/python3 "$top/selftests/net/mpi4py_rank.py" &&
		grep -q "^right" "$log" && how_many
	ok $? "mpi4py, $1 ranks: every collective"
}

# The sizes of the example are for large machines.
hpcc()
{
	if [[ ! -f $input ]] || ! command -v hpcc >/dev/null; then
		skip "hpcc" "hpcc is not installed"
		return
	fi
	awk 'NR == 6 { $1 = 200 } NR == 8 { $1 = 40 } NR == 11 { $1 = 2 } NR == 12 { $1 = 2 } 1' \
		"$input" >"$tmp/hpccinf.txt"
	preloaded 4 hpcc && grep -q "^Success=1" "$tmp/hpccoutf.txt" &&
		grep -q "PASSED" "$tmp/hpccoutf.txt" && ! grep -q "FAILED" "$tmp/hpccoutf.txt" &&
		how_many
	ok $? "hpcc, 4 ranks: its own checks"
}

plan 3
if [[ ! -f $lib ]]; then
	for _ in {1..3}; do skip "programs" "no mpicc.openmpi"; done
	finish
fi
mpi4py 2
mpi4py 4
hpcc
finish
