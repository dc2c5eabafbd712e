#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: fuzz.sh PROGRAM SECONDS KIND...: each fuzzer for SECONDS, in the VM

passed=0
failed=0
program=$1 seconds=$2
shift 2
for kind in "$@"; do
	if "$program" "$kind" "$seconds"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
echo "fuzz: $passed passed, $failed failed"
((failed == 0))
