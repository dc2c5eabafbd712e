#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Module coll for Fortran: it has what the headers have, every call gives the right results, and
# the examples of MPI's text give the right answers.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

build=${COLL_TEST_BUILD:?}
check=$top/selftests/net/fortran_check.py

# run PROGRAM RANKS NODES NAME [VARIABLE=VALUE]
run()
{
	env "${@:5}" "$tools/collrun" -t 200 -n "$2" --nodes "$3" "$build/fortran_$1" \
		>"$log" 2>&1 </dev/null &&
		[[ $(grep -c "right$" "$log") == "$2" ]]
	ok $? "$4, $2 ranks, $3 node(s)${5:+, $5}"
}

# compared WHAT
compared()
{
	/usr/bin/python3 "$check" "$top" "$1" >"$log" 2>&1
	ok $? "$1 of the module are those of the headers"
}

plan 10
compared constants
compared functions
if [[ ! -x $build/fortran_rank ]]; then
	for _ in {1..8}; do skip "Fortran" "no gfortran"; done
	finish
fi
run rank 1 1 "every call"
run rank 2 1 "every call"
run rank 4 1 "every call" COLL_NO_URING=1
run rank 5 2 "every call"
run examples 1 1 "examples of MPI"
run examples 2 2 "examples of MPI"
run examples 4 1 "examples of MPI"
run examples 5 3 "examples of MPI"
finish
