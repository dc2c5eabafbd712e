#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of Debian with the library for their MPI preloaded: their own checks, and how many of
# their calls went through coll. make check-programs installs them.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/mpi_lib.sh
. "$(dirname "$0")/mpi_lib.sh"

input=/usr/share/doc/hpcc/examples/_hpccinf.txt
# Each of PBLAS for one level; LU and Cholesky (LLT) factorizations. d: real, z: complex numbers.
# Not xdllt: it hangs with Open MPI alone, too, in most runs on some machines (AMD family 26): its
# ranks come to different decisions in PDLACON.
scalapack="PBLAS/dpb1tst PBLAS/dpb2tst PBLAS/dpb3tst PBLAS/zpb1tst PBLAS/zpb2tst PBLAS/zpb3tst"
scalapack+=" xdlu xzlu xzllt"
limit=600
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"' EXIT

# have KIND
have()
{
	[[ -f $top/.build/lib/libcoll_mpi_$1.so ]]
}

# result STATUS NAME: its calls are in the log. None through coll is a failure
result()
{
	local counts status=$1

	counts=$(calls "$log") || status=1
	ok "$status" "$2: $counts"
}

mpi4py()
{
	local name="mpi4py, $1 ranks: every collective"

	if ! have openmpi || ! /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
		skip "$name" "no mpicc.openmpi, or no python3-mpi4py"
		return
	fi
	preloaded openmpi "$1" /usr/bin/python3 "$top/selftests/net/mpi4py_rank.py" &&
		grep -q "^right" "$log"
	result $? "$name"
}

# The sizes of the example are for large machines.
hpcc()
{
	if ! have openmpi || [[ ! -f $input ]] || ! command -v hpcc >/dev/null; then
		skip "hpcc" "no mpicc.openmpi, or no hpcc"
		return
	fi
	awk 'NR == 6 { $1 = 200 } NR == 8 { $1 = 40 } NR == 11 { $1 = 2 } NR == 12 { $1 = 2 } 1' \
		"$input" >"$tmp/hpccinf.txt"
	cd "$tmp" && preloaded openmpi 4 hpcc && grep -q "^Success=1" hpccoutf.txt &&
		grep -q "PASSED" hpccoutf.txt && ! grep -q "FAILED" hpccoutf.txt
	result $? "hpcc, 4 ranks: its own checks"
}

# shellcheck disable=SC2317  # called by name
# residuals LOG: of LU and Cholesky: tests that passed, none that failed
residuals()
{
	awk '/tests completed and passed residual checks/ { passed += $1 }
	     /tests completed and failed residual checks/ { failed += $1 }
	     /^END OF TESTS/ { over++ }
	     END {
		printf "# %d passed, %d failed\n", passed, failed
		exit !(over == 1 && passed && !failed)
	     }' "$1"
}

# shellcheck disable=SC2317
# table LOG: of PBLAS: a line for each subroutine with tests, of which so many passed, failed and
# were skipped
table()
{
	awk '/^ *[|] *P[DZ][A-Z0-9]+( +[0-9]+)+ *$/ && NF == 6 { passed += $4; failed += $5 }
	     /End of Tests/ { over++ }
	     END {
		printf "# %d passed, %d failed\n", passed, failed
		exit !(over == 1 && passed && !failed)
	     }' "$1"
}

# inputs DIRECTORY: those of the programs there, here. LU and Cholesky with one block size and one
# number of right sides, of three each
inputs()
{
	local file

	rm -f ./*.dat
	for file in "$1"/*.dat; do
		sed -E "s/^3(\\s+number of (NB|NRHS|NBRHS)'s)/1\\1/I" "$file" >"${file##*/}"
	done
}

# scalapack KIND PROGRAM
scalapack()
{
	local program summary=residuals

	program=$(compgen -G "/usr/lib/*/scalapack/$1-tests/$2")
	if ! have "$1" || [[ ! $program ]]; then
		skip "ScaLAPACK on $1, $2" "no mpicc.$1, or no scalapack-mpi-test"
		return
	fi
	[[ $2 != PBLAS/* ]] || summary=table
	cd "$tmp" && inputs "$(dirname "$program")" && preloaded "$1" 4 "$program" && $summary "$log"
	result $? "ScaLAPACK on $1, 4 ranks, $2"
}

plan $((3 + 2 * $(wc -w <<<"$scalapack")))
mpi4py 2
mpi4py 4
hpcc
for kind in mpich openmpi; do
	for program in $scalapack; do
		scalapack $kind "$program"
	done
done
finish
