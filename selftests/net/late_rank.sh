#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Ranks that come first have sent when the others are not there yet: that wakes nobody.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

test_no_workers()
{
	local tracing=/sys/kernel/tracing event passes

	[[ -d $tracing/events ]] || mount -t tracefs none $tracing
	event=$tracing/events/workqueue/workqueue_execute_start
	if [[ ! -d $event ]]; then
		skip "no worker runs for a rank that is not there" "no tracepoint"
		return
	fi
	# This tracepoint changes code that every CPU runs at any time. QEMU before 8.1 may still
	# execute a breakpoint that another CPU has removed: see emulator_broke() in tools/vm/run.sh.
	if grep -q "^model name.*QEMU TCG" /proc/cpuinfo; then
		skip "no worker runs for a rank that is not there" "the emulator may crash the kernel"
		return
	fi
	echo >$tracing/trace
	echo 1 >$event/enable
	"$tools/collrun" -t 200 -n 4 --nodes 4 "${COLL_TEST_BUILD:?}/late_rank" 200 >"$log" 2>&1 </dev/null
	echo "exit status $?" >>"$log"
	echo 0 >$event/enable
	passes=$(grep -c "function coll_conn_work" $tracing/trace)
	echo "$passes times a worker came for a link, in 200 barriers of 4 ranks" | tee -a "$log"
	# Some must come: else the function has another name, or nothing is recorded.
	grep -q "^exit status 0" "$log" && ((passes > 0 && passes < 400))
	ok $? "no worker runs for a rank that is not there"
}

plan 1
test_no_workers
finish
