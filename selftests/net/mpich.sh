#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# MPICH's own tests of collectives, each line of their testlist: what passes without the library
# must pass with it preloaded. tools/mpich-tests builds them; make check-programs does both.
#
# COLL_MPICH_TESTS is their directory. COLL_MPICH_RANKS are numbers of ranks, COLL_MPICH_ONLY is
# a pattern for the names of programs. The testlist's own numbers of ranks are not used: a
# program that needs more ranks fails without the library, too.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/mpi_lib.sh
. "$(dirname "$0")/mpi_lib.sh"

lib=$top/.build/lib/libcoll_mpi_mpich.so
tests=${COLL_MPICH_TESTS-}
read -ra ranks <<<"${COLL_MPICH_RANKS:-2 4 5 8}"
# seconds for a program without the library; it may take three times as long with it
limit=${COLL_MPICH_LIMIT:-60}

if [[ ! -f $lib || ! -f $tests/testlist ]]; then
	plan 1
	skip "MPICH's tests" "no mpicc.mpich, or COLL_MPICH_TESTS is not set"
	finish
fi
cd "$tests" || exit

# What the testlist says of a program besides its arguments is not needed here.
programs()
{
	awk -v only="^(${COLL_MPICH_ONLY:-.*})\$" '
	/^[a-z]/ && $1 ~ only {
		line = $1
		for (i = 3; i <= NF; i++)
			if (sub(/^arg=/, "", $i))
				line = line " " $i
		if (!seen[line]++)
			print line
	}' testlist
}

# run SECONDS RANKS NODES VARIABLE=VALUE... PROGRAM ARGUMENTS: the ranks are on so many nodes of
# coll; for MPI they are on one. A program says that it has found no errors.
run()
{
	# shellcheck disable=SC2016  # the rank's shell expands it
	timeout -k 5 "$1" mpirun.mpich -n "$2" sh -c 'export COLL_NODE=$((PMI_RANK * $1 / $2))
		shift 2; exec env "$@"' sh "$3" "$2" "${@:4}" >"$log" 2>&1 </dev/null &&
		grep -q "No Errors" "$log"
}

# preloaded RANKS NODES PROGRAM ARGUMENTS
preloaded()
{
	local status counts name="${*:3}, $1 ranks, $2 node(s)"

	run $((3 * limit)) "$1" "$2" LD_PRELOAD="$lib" COLL_MPI_STATS=1 COLL_MPI_MIN=0 \
		"./$3" "${@:4}"
	status=$?
	counts=$(calls "$log") && taken=$((taken + 1))
	ok $status "$name: $counts"
}

# program RANKS NAME ARGUMENTS
program()
{
	local nodes

	if ! run "$limit" "$1" 1 "./$2" "${@:3}"; then
		for nodes in 1 2; do
			skip "${*:2}, $1 ranks, $nodes node(s)" "it fails without the library, too"
		done
		return
	fi
	for nodes in 1 2; do
		preloaded "$1" "$nodes" "${@:2}"
	done
}

mapfile -t lines < <(programs)
plan $((${#lines[@]} * ${#ranks[@]} * 2 + 1))
taken=0		# programs of which coll has executed calls; it may leave all calls of one to the MPI
for n in "${ranks[@]}"; do
	for line in "${lines[@]}"; do
		# shellcheck disable=SC2086  # words of the testlist
		program "$n" $line
	done
done
: >"$log"
((taken))
ok $? "coll executed calls of $taken programs"
finish
