#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: check.sh KERNEL...
#
# Everything: what needs no VM, then func and net on each kernel, and hosts on one.
# Every part closes with "TITLE: N passed, M failed"; a part without that line has
# failed. The last line is the sum.
#
# With a single kernel this is the inner loop of someone at work: tests that loop
# do so a third as often, unless COLL_TEST_SCALE says otherwise.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
(($# > 1)) || export COLL_TEST_SCALE=${COLL_TEST_SCALE:-30}
passed=0
failed=0
broken=()

# count TITLE STATUS LOG: adds up the result of a part
count()
{
	local title=$1 status=$2 log=$3 line

	line=$(grep -E '^[a-z][^:]*: [0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	if [[ $line =~ :\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
		if ((BASH_REMATCH[2] == 0 && status != 0)); then
			failed=$((failed + 1))	# an unclean VM, most likely
			line+=", but status $status"
		fi
	else
		failed=$((failed + 1))
		line="no result, status $status"
	fi
	[[ $status == 0 && ${BASH_REMATCH[2]-1} == 0 ]] || broken+=("$title: $line")
}

# part TITLE COMMAND...: alone on the machine, for its tests measure time
part()
{
	local title=$1 status start=$SECONDS

	shift
	printf '\n## %s\n' "$title"
	"$@" 2>&1 </dev/null | tee "$work/log"
	status=${PIPESTATUS[0]}
	printf '## %s: %d s\n' "$title" $((SECONDS - start))
	count "$title" "$status" "$work/log"
}

# beside TITLE COMMAND...: may run together with others; output comes by join
beside()
{
	local title=$1

	shift
	titles+=("$title")
	("$@" >"$work/$title" 2>&1 </dev/null; echo $? >"$work/$title.status") &
}

join()
{
	local title start=$SECONDS

	wait
	for title in "${titles[@]}"; do
		printf '\n## %s\n' "$title"
		cat "$work/$title"
		count "$title" "$(cat "$work/$title.status")" "$work/$title"
	done
	printf '## %s: %d s\n' "${titles[*]}" $((SECONDS - start))
}

cd "$top" || exit 1
titles=()
for kernel in "$@"; do
	part "kernel $kernel" selftests/kernel.sh "$kernel"
done
beside static selftests/static.sh "$@"
beside doc sh selftests/doc.sh
beside unit make -s --no-print-directory -C selftests/unit run
beside libcoll make -s --no-print-directory -C libcoll_user test
join
for kernel in "$@"; do
	part "func on $kernel" make -s --no-print-directory -C selftests run-func KERNEL="$kernel"
	part "net on $kernel" make -s --no-print-directory -C selftests run-net KERNEL="$kernel"
	# two emulated machines take all there is: on one kernel
	[[ $kernel != debian-6.1 ]] || part "hosts on $kernel" \
		make -s --no-print-directory -C selftests run-hosts KERNEL="$kernel"
done

printf '\n'
for b in "${broken[@]+"${broken[@]}"}"; do
	echo "FAILED $b"
done
echo "$passed passed, $failed failed"
((failed == 0))
