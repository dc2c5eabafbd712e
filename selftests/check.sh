#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: check.sh KERNEL...
#
# Everything: what needs no VM, then func and net on each kernel. Every part
# closes with "TITLE: N passed, M failed"; a part without that line has failed.
# The last line is the sum.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
passed=0
failed=0
broken=()

# part TITLE COMMAND...
part()
{
	local title=$1 status line start=$SECONDS

	shift
	printf '\n## %s\n' "$title"
	"$@" 2>&1 </dev/null | tee "$log"
	status=${PIPESTATUS[0]}
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
	printf '## %s: %d s\n' "$title" $((SECONDS - start))
}

cd "$top" || exit 1
part static selftests/static.sh "$@"
part doc sh selftests/doc.sh
part unit make -s --no-print-directory -C selftests/unit run
part libcoll make -s --no-print-directory -C libcoll_user test
for kernel in "$@"; do
	part "fetch and build $kernel" selftests/kernel.sh "$kernel"
	part "func on $kernel" make -s --no-print-directory -C selftests run-func KERNEL="$kernel"
	part "net on $kernel" make -s --no-print-directory -C selftests run-net KERNEL="$kernel"
done

printf '\n'
for b in "${broken[@]+"${broken[@]}"}"; do
	echo "FAILED $b"
done
echo "$passed passed, $failed failed"
((failed == 0))
