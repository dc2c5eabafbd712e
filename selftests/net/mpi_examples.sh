#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The examples of global reductions in the text of MPI-1, with their answers.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

examples=${COLL_TEST_BUILD:?}/mpi_examples

# examples RANKS NODES
examples()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$examples" >"$log" 2>&1 </dev/null
	ok $? "examples of MPI, $1 ranks, $2 nodes"
	grep '^#' "$log"
}

# Eight are the processes of the text's picture of a segmented scan.
cases="2:2 3:1 4:2 5:5 8:1 8:4"
((${COLL_TEST_SCALE:-100} >= 100)) || cases="4:2 8:1"

plan "$(wc -w <<<"$cases")"
for one in $cases; do
	examples "${one%:*}" "${one#*:}"
done
finish
