#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kill -9 of a rank ends the whole job, and nothing of it is left in the kernel.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# What each of the others says
dead='^collperf: rank [01235]: .* is dead; first: rank 4 .* was ended by signal 9'

test_kill()
{
	local start=$SECONDS pid victim status

	rm -f /tmp/ranks
	"$tools/collrun" -k -t 200 -n 6 --nodes 3 -r /tmp/ranks "$tools/collperf" allreduce \
		-b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null &
	pid=$!
	until [[ -s /tmp/ranks ]] && "$tools/collctl" --json show 2>/dev/null | grep -Eq '"ops": [0-9]{3}' ||
		((SECONDS - start > 60)); do
		sleep 0.1
	done
	# coll_init() has ops, too: a rank that is still there says something else
	sleep 2
	victim=$(awk '$1 == 4 { print $2 }' /tmp/ranks)
	start=$SECONDS
	kill -KILL "$victim"
	wait "$pid"
	status=$?
	echo "status $status after $((SECONDS - start)) s" >>"$log"
	# 128 + SIGKILL
	((status == 137 && SECONDS - start <= 40)) &&
		grep -q '^collrun: rank 4 was ended by signal 9' "$log" &&
		(($(grep -c "$dead" "$log") == 5))
	ok $? "kill -9 of a rank ends the job"
	nothing_left
	ok $? "nothing of it is left in the kernel"
}

plan 2
test_kill
finish
