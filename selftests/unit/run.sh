#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run test programs that speak TAP, show what they say, and count. A program
# that dies, or does not say as many results as it planned, is one failure more.

passed=0
failed=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

for prog in "$@"; do
	echo "# $(basename "$prog")"
	"$prog" >"$out" 2>&1
	status=$?
	cat "$out"
	good=$(grep -c '^ok ' "$out")
	bad=$(grep -c '^not ok ' "$out")
	plan=$(sed -n 's/^1\.\.//p' "$out")
	if [ "$bad" -eq 0 ] && { [ $status -ne 0 ] || [ "$plan" != "$good" ]; }; then
		echo "not ok - $(basename "$prog"): status $status, $good of ${plan:-?} results"
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
done

echo "unit: $passed passed, $failed failed"
[ $failed -eq 0 ]
