#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collctl timeline: valid JSON, with each rank's tick for each tensor of each step, a track for
# each rank and link; of two recordings, too. It can be started and stopped while a job runs.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

cancer=$tools/examples/data/breast_cancer.csv
mlp=$top/.build/tools/mlp
check=$(dirname "$0")/timeline.py
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT

# train RANKS NODES STEPS
train()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$mlp" -i "$3" "$cancer" >>"$log" 2>&1 </dev/null
}

# record FILE RANKS NODES STEPS
record()
{
	"$tools/collctl" timeline start >"$log" 2>&1 && train "$2" "$3" "$4" &&
		"$tools/collctl" timeline stop "$1" >>"$log" 2>&1
}

# whole RANKS NODES: all that the example has done is there
whole()
{
	record "$work/all" "$1" "$2" 12 &&
		python3 "$check" "$work/all" --ranks "$1" --nodes "$2" --steps 12 >>"$log" 2>&1
	ok $? "the example, $1 ranks, $2 nodes: every tick of 12 steps"
}

plan 10
trace_no_names
whole 1 1
whole 4 1
whole 4 2
whole 3 3

# The trace has the names of tasks, which any user can choose.
if grep -q 'User Mode Linux' /proc/cpuinfo; then
	echo 1 >/sys/kernel/tracing/options/record-cmd
	cp "$mlp" "$work/x coll_submit: "
	mlp="$work/x coll_submit: " whole 2 1
	trace_no_names
else
	skip "a task with the name of an event" "the emulator may break, see common/trace.c"
fi

record "$work/one" 2 2 5 && record "$work/two" 2 1 5 &&
	"$tools/collctl" timeline merge "$work/one" "$work/two" >"$work/both" 2>>"$log" &&
	python3 "$check" "$work/both" --merged "$work/one" "$work/two" >>"$log" 2>&1
ok $? "two recordings become one"

steps()
{
	grep -c '^step ' "$work/steps"
}

# go_on: 0 when ten steps have begun and ended. A line comes after every tenth.
go_on()
{
	local before i

	before=$(steps)
	for ((i = 0; i < 500; i++)); do
		(($(steps) >= before + 2)) && return
		sleep 0.2
	done
	return 1
}

# In the middle of a job that would never end.
"$tools/collrun" -t 200 -n 2 --nodes 2 stdbuf -oL "$mlp" -i 1000000 "$cancer" \
	>"$work/steps" 2>&1 </dev/null &
job=$!
for ((i = 0; i < 300; i++)); do
	grep -q '^step 10:' "$work/steps" && break
	sleep 0.2
done
# A shell that stands still for seconds records more than there is room for.
for _ in {1..5}; do
	"$tools/collctl" timeline start >"$log" 2>&1 && go_on &&
		"$tools/collctl" timeline stop "$work/part" >>"$log" 2>&1
	status=$?
	grep -q 'events are lost' "$log" || break
done
kill -TERM $job
wait $job
((status == 0)) && python3 "$check" "$work/part" --ranks 2 --nodes 2 >>"$log" 2>&1
ok $? "started and stopped while a job runs"

"$tools/collctl" timeline start 64 >"$log" 2>&1 && train 4 2 30 &&
	"$tools/collctl" timeline stop "$work/lost" >>"$log" 2>&1 &&
	grep -q 'events are lost' "$log" && ! grep -q '"lost":0}' "$work/lost" &&
	python3 "$check" "$work/lost" >>"$log" 2>&1
ok $? "what has been lost is said"

"$tools/collctl" timeline start >"$log" 2>&1 && train 4 2 10 &&
	! "$tools/collctl" timeline stop /dev/full >>"$log" 2>&1 &&
	grep -q 'the recording is kept' "$log" &&
	"$tools/collctl" timeline stop "$work/kept" >>"$log" 2>&1 &&
	python3 "$check" "$work/kept" --ranks 4 --nodes 2 >>"$log" 2>&1
ok $? "a disk that is full, and another try"

# So little that it stays in the buffer until the end
"$tools/collctl" timeline start >"$log" 2>&1 &&
	! "$tools/collctl" timeline stop 2>>"$log" >/dev/full &&
	grep -q 'the recording is kept' "$log" &&
	"$tools/collctl" timeline stop - >"$work/kept" 2>>"$log" &&
	grep -q '^{"traceEvents":' "$work/kept"
ok $? "little for a disk that is full, by stdout"
finish
