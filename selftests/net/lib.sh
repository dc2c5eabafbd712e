# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the scripts of this suite: TAP, and what they all look for.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tools=$top/tools
results=0
bad=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# plan N
plan()
{
	echo "TAP version 13"
	echo "1..$1"
}

# ok STATUS NAME: one result; the log of a failure follows it
ok()
{
	results=$((results + 1))
	if (($1 == 0)); then
		echo "ok $results $2"
	else
		echo "not ok $results $2"
		sed 's/^/#   /' "$log" | tail -n 40
		bad=$((bad + 1))
	fi
}

# What mpirun is given as: sh -c "$to_a_file" LOG PROGRAM ARGUMENTS: each process writes to a file of
# its own. mpirun may put the lines of several ranks into one.
# shellcheck disable=SC2034,SC2016  # for scripts, and the rank's shell expands it
to_a_file='exec "$@" >"$0.$$" 2>&1'

# apart LOG COMMAND...: its output, and after it what its processes have written to files
apart()
{
	local status

	rm -f "$1".[0-9]*
	"${@:2}" >"$1" 2>&1 </dev/null
	status=$?
	cat "$1".[0-9]* >>"$1" 2>/dev/null
	rm -f "$1".[0-9]*
	return $status
}

# nothing_left: no group is in the kernel any more. Files that commands in flight hold go with the
# ring, after the process
nothing_left()
{
	local _

	for _ in {1..300}; do
		"$tools/collctl" list >"$log" 2>&1 || return 1
		tail -n +2 "$log" | grep -q . || return 0
		sleep 0.1
	done
	return 1
}

skip()
{
	results=$((results + 1))
	echo "ok $results $1 # SKIP $2"
}

# right LOG: collperf has printed rows, and the columns "#wrong" of all of them are 0
right()
{
	awk '/^ *[0-9]/ { n++; if ($NF != 0 || (NF == 13 && $9 != 0)) w++ } END { exit !(n && !w) }' "$1"
}

# perf NAME COLLRUN-OPTIONS -- COLLPERF-OPTIONS: a run that must show 0 wrong; out of place
# unless they say otherwise
perf()
{
	local name=$1 run=()

	shift
	while [[ $1 != -- ]]; do
		run+=("$1")
		shift
	done
	shift
	"$tools/collrun" -t 200 "${run[@]}" "$tools/collperf" --outofplace "$@" --check >"$log" 2>&1 </dev/null &&
		right "$log"
	ok $? "$name"
}

# Tracing does not record names of processes: that would change code of schedule(), see common/trace.c.
# New instances inherit the option, which they do not have themselves.
trace_no_names()
{
	[[ -d /sys/kernel/tracing/events ]] || mount -t tracefs none /sys/kernel/tracing
	echo 0 >/sys/kernel/tracing/options/record-cmd
}

# largest power of two to go to, smaller where it takes forever
largest()
{
	if ((${COLL_TEST_SCALE:-100} >= 100)); then
		echo "$1"
	else
		echo "$2"
	fi
}

finish()
{
	((bad == 0))
	exit
}
