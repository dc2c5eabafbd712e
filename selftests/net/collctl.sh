#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collctl shows a job that runs, in text and JSON; SIGTERM to collrun ends it.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

test_collctl()
{
	local pid

	"$tools/collrun" -t 200 -n 4 --nodes 2 "$tools/collperf" allreduce \
		-b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null &
	pid=$!
	for _ in $(seq 600); do
		"$tools/collctl" list >/tmp/list 2>&1
		(($(grep -c . /tmp/list) >= 3)) &&
			"$tools/collctl" --json show 2>/dev/null | grep -q '"ops": [1-9][0-9]' && break
		sleep 0.1
	done
	"$tools/collctl" list >/tmp/list 2>&1 && "$tools/collctl" show >/tmp/show 2>&1 &&
		(($(grep -c . /tmp/list) >= 3)) && [[ -s /tmp/show ]]
	ok $? "collctl list and show during a run"
	"$tools/collctl" --json show >/tmp/json 2>&1 && python3 -m json.tool /tmp/json >/dev/null
	ok $? "collctl --json"
	python3 - /tmp/json <<-'END'
	import json, sys
	said = json.load(open(sys.argv[1]))
	late = any(g["ops"] < 1 or g["work-ns"] + g["call-ns"] == 0 for g in said["groups"])
	idle = any(m["bytes"] < 1 or m["call-ns"] == 0 for m in said["members"])
	sys.exit(late or idle or len(said["members"]) != 4)
	END
	ok $? "time and bytes of groups and members are counted"
	kill -TERM "$pid"
	wait "$pid"
	(($? == 143))	# 128 + SIGTERM
	ok $? "SIGTERM to collrun ends the job"
}

# A number that no communicator has
test_unknown()
{
	local args bad=0

	: >"$log"
	for args in "show 999999" "--json show 999999" "stalls 999999" "--json stalls 999999"; do
		# shellcheck disable=SC2086	# words
		"$tools/collctl" $args >/tmp/unknown 2>&1
		[[ $? == 1 ]] && grep -q "no group 999999" /tmp/unknown ||
			{ echo "collctl $args:"; cat /tmp/unknown; bad=1; } >>"$log"
	done
	((!bad))
	ok $? "collctl fails for a communicator that is not there"
}

# Output that is cut off is an error.
test_full()
{
	"$tools/collctl" --json show >/dev/full 2>"$log"
	(($? == 1)) && grep -q "cannot be written" "$log"
	ok $? "collctl says that its output cannot be written"
}

plan 6
test_collctl
test_unknown
test_full
finish
