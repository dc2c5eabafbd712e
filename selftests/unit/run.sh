#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run test programs that speak TAP, JOBS of them at a time, show what they say, and
# count. A program that dies, or does not say as many results as it planned, is one
# failure more. ARGS are arguments of each; TITLE is that of the last line.

title=${TITLE:-unit}
limit=3600	# seconds for one; beside a whole check they have little of the CPUs
passed=0
failed=0
skipped=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# shellcheck disable=SC2016 # the inner shell's
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -I{} sh -c '
	out=$1/$(basename "$2")
	timeout -k 5 "$3" "$2" $4 >"$out" 2>&1
	echo $? >"$out.status"' sh "$dir" {} "$limit" "${ARGS-}"

for prog in "$@"; do
	out=$dir/$(basename "$prog")
	status=$(cat "$out.status")
	echo "# $(basename "$prog")"
	cat "$out"
	good=$(grep -c '^ok ' "$out")
	bad=$(grep -c '^not ok ' "$out")
	plan=$(sed -n 's/^1\.\.//p' "$out")
	if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$plan" != "$good" ]; }; then
		echo "not ok - $(basename "$prog"): status $status, $good of ${plan:-?} results"
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	skipped=$((skipped + $(grep -c '^ok .*# SKIP' "$out")))
done

[ $skipped -eq 0 ] && skips= || skips=" (skipped: $skipped)"
echo "$title: $passed passed, $failed failed$skips"
[ $failed -eq 0 ]
