#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Blocking calls do the work of their links themselves; for others a thread of the process
# does, where the kernel can, else workers.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# right_one HOW RANKS: most of the work is done by calls, if HOW is one of RANKS, else not
right_one()
{
	python3 - /tmp/json "$@" <<-'END'
	import json, sys
	groups = json.load(open(sys.argv[1]))["groups"]
	calls = sum(g["call-ns"] for g in groups)
	works = sum(g["work-ns"] for g in groups)
	print("calls", calls, "works", works)
	sys.exit(len(groups) != 2 or (calls > works) != (sys.argv[3] in ("all", sys.argv[2])))
	END
}

test_who_works()
{
	local how pid good ranks=--ioctl

	[[ $(printf '%s\n' 6.10 "$(uname -r)" | sort -V | head -n 1) != 6.10 ]] || ranks=all

	for how in --ioctl ""; do
		"$tools/collrun" -t 200 -n 2 --nodes 2 "$tools/collperf" allreduce \
			-b 1M -e 1M -n 100000000 $how >"$log" 2>&1 </dev/null &
		pid=$!
		for _ in $(seq 600); do
			sleep 0.1
			"$tools/collctl" --json show >/tmp/json 2>>"$log" &&
				grep -q '"ops": [1-9][0-9]' /tmp/json && break
		done
		# Calls have measured in coll_init(), and a worker that is not running counts.
		good=1
		for _ in {1..15}; do
			sleep 1
			"$tools/collctl" --json show >/tmp/json 2>>"$log"
			right_one "$how" "$ranks" >>"$log" 2>&1 && good=0 && break
		done
		kill -TERM "$pid"
		wait "$pid"
		ok $good "callers, threads or workers do the work of ${how:-io_uring}"
	done
}

plan 2
test_who_works
finish
