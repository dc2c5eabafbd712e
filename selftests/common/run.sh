#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: run.sh TITLE SECONDS DIRECTORY PROGRAM...
#
# Runs test programs that speak TAP, inside the VM, and counts their results. A
# program that dies, hangs, or gives other than the planned number of results
# is one failure more. Scripts come from the directory of the suite's source.

title=$1 limit=$2 dir=$3
shift 3
here=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
passed=0
failed=0
skipped=0
broken=
# where scripts find what was built for them
export COLL_TEST_BUILD=$dir

# A forked rank would have its own buffer otherwise, and print it twice.
run()
{
	if [[ $1 == *.sh ]]; then
		timeout -k 5 "$limit" bash "$here/$(basename "$dir")/$1"
	else
		timeout -k 5 "$limit" stdbuf -oL "$dir/$1"
	fi
}

(($#)) || { echo "not ok - no programs" && failed=1; }
for prog in "$@"; do
	echo "# $prog"
	start=$SECONDS
	run "$prog" 2>&1 </dev/null | tee "$out"
	status=${PIPESTATUS[0]}
	good=$(grep -c '^ok ' "$out")
	bad=$(grep -c '^not ok ' "$out")
	plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$out" | head -n 1)
	# 4: the whole program was skipped, which its one line says
	if ((bad == 0 && status != 0 && status != 4)) || [[ $plan != $((good + bad)) ]]; then
		echo "not ok - $prog: status $status, $((good + bad)) of ${plan:-?} results"
		bad=$((bad + 1))
	fi
	echo "# $prog: $((SECONDS - start)) s"
	passed=$((passed + good))
	failed=$((failed + bad))
	skipped=$((skipped + $(grep -c '^ok .*# SKIP' "$out")))
	((bad == 0)) || broken+=" $prog"
done

[[ -z $broken ]] || echo "# failures in:$broken"
((!skipped)) || skips=" (skipped: $skipped)"
echo "$title: $passed passed, $failed failed${skips-}"
((failed == 0))
