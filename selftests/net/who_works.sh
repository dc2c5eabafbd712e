#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Blocking calls do the work of their links themselves; for others a thread of the process
# does, where the kernel can, else workers.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

test_who_works()
{
	local how pid ranks=--ioctl

	[[ $(printf '%s\n' 6.10 "$(uname -r)" | sort -V | head -n 1) != 6.10 ]] || ranks=all

	for how in --ioctl ""; do
		"$tools/collrun" -t 60 -n 2 --nodes 2 "$tools/collperf" allreduce \
			-b 1M -e 1M -n 100000000 $how >"$log" 2>&1 </dev/null &
		pid=$!
		for _ in $(seq 100); do
			sleep 0.1
			"$tools/collctl" --json show >/tmp/json 2>>"$log" &&
				grep -q '"ops": [1-9][0-9]' /tmp/json && break
		done
		sleep 1
		"$tools/collctl" --json show >/tmp/json 2>>"$log"
		kill -TERM "$pid"
		wait "$pid"
		python3 - /tmp/json "$how" "$ranks" <<-'END'
		import json, sys
		groups = json.load(open(sys.argv[1]))["groups"]
		calls = sum(g["call-ns"] for g in groups)
		works = sum(g["work-ns"] for g in groups)
		print("calls", calls, "works", works)
		sys.exit(len(groups) != 2 or (calls > works) != (sys.argv[3] in ("all", sys.argv[2])))
		END
		ok $? "callers, threads or workers do the work of ${how:-io_uring}"
	done
}

plan 2
test_who_works
finish
