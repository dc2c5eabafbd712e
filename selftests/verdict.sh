#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: verdict.sh KERNEL: does collvm see what a command leaves behind?
# Runs outside, and starts the VMs. Ends with "verdict on KERNEL: N passed, N failed".

top=$(cd "$(dirname "$0")/.." && pwd)
kernel=$1
work=$(mktemp -d "$top/.build/verdict.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# leaves WHAT STATUS PATTERN: what the VM says, and its exit status
leaves()
{
	local status

	"$top/tools/collvm" run --kernel "$kernel" -- "$work/leftover" "$1" \
		>"$work/log" 2>&1 </dev/null
	status=$?
	if [[ $status == "$2" ]] && { [[ -z $3 ]] || grep -qE "$3" "$work/log"; }; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $1 left behind"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $1 left behind: status $status"
		sed 's/^/# /' "$work/log"
	fi
}

"${CC:-cc}" -O2 -Wall -Wno-unused-parameter -o "$work/leftover" \
	"$top/selftests/verdict.c" -lpthread || exit 1
echo 1..4
leaves nothing 0 ''
case $kernel in
uml*)	files='file' ;;
*)	files='files' ;;	# one by one they are not counted exactly
esac
leaves "$files" 99 'open files: [0-9]+ before, [0-9]+ after'
leaves socket 99 'sockets: [0-9]+ before, [0-9]+ after'
leaves namespace 99 'network namespaces: [0-9]+ before, [0-9]+ after'
echo "verdict on $kernel: $passed passed, $failed failed"
((failed == 0))
