#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collrun by itself: it ends all that its ranks have started, and has room for many of them.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"' EXIT

# A process that does not end by itself, and whose id is known
cat >"$tmp/stay" <<END
echo \$\$ >$tmp/new; mv $tmp/new $tmp/pid; exec sleep 1000
END
# The job is over when that process has started.
until_there="until [ -e $tmp/pid ]; do sleep 0.1; done"

# ends NAME STATUS OPTION... -- SCRIPT: a job whose script starts that process
ends()
{
	local name=$1 status=$2 run=() pid

	shift 2
	while [[ $1 != -- ]]; do
		run+=("$1")
		shift
	done
	rm -f "$tmp/pid"
	timeout -k 5 60 "$tools/collrun" "${run[@]}" sh -c "$2" >"$log" 2>&1 </dev/null
	(($? == status)) && [[ -s $tmp/pid ]] && ! kill -0 "$(<"$tmp/pid")" 2>>"$log"
	ok $? "$name"
	[[ -s $tmp/pid ]] && pid=$(<"$tmp/pid") && kill -KILL "$pid" 2>/dev/null
}

daemon="setsid sh -c 'sh $tmp/stay & wait; :' & $until_there"

# Each rank has the limit of the shell that started collrun.
many_pipes()
{
	local few=64 ranks=100

	(ulimit -Sn $few; "$tools/collrun" -t 100 -l -n $ranks sh -c 'ulimit -Sn') >"$log" 2>&1 </dev/null &&
		[[ $(grep -c "^\[[0-9]*\] $few$" "$log") == "$ranks" ]]
	ok $? "more pipes than descriptors, of which more may be had"
}

# Takes output so slowly that the ranks' pipes are never empty.
slowly()
{
	while read -r _; do :; done
}

# A rank that writes without end is ended as any other.
endless()
{
	timeout -k 5 40 "$tools/collrun" -l -t 1 -n 1 yes 2>"$log" </dev/null | slowly
	((PIPESTATUS[0] == 124)) && grep -q "^collrun: timeout" "$log"
	ok $? "a rank that writes without end, when the time of the job is over"
}

# A process that is not of the job has a rank's pipe, and writes on when the rank is over.
pipe_of_others()
{
	local job writer

	rm -f "$tmp/pid"
	timeout -k 5 40 "$tools/collrun" -l -n 1 sh -c "echo \$\$ >$tmp/new; mv $tmp/new $tmp/pid
		until [ -e $tmp/writes ]; do sleep 0.1; done" 2>"$log" </dev/null > >(slowly) &
	job=$!
	until [[ -e $tmp/pid ]]; do sleep 0.1; done
	yes >"/proc/$(<"$tmp/pid")/fd/1" 2>/dev/null &
	writer=$!
	sleep 0.5
	: >"$tmp/writes"
	wait $job
	ok $? "a pipe that others write to when its rank is over"
	kill $writer 2>/dev/null
}

# A job whose output nobody reads any more ends, with all that it has started.
unread()
{
	local line status

	rm -f "$tmp/pid"
	timeout -k 5 40 "$tools/collrun" -l -n 2 sh -c "sh $tmp/stay & $until_there
		while echo more; do sleep 0.1; done; wait" 2>"$log" </dev/null | head -n 1 >"$tmp/line"
	status=${PIPESTATUS[0]} line=$(<"$tmp/line")
	((status == 141)) && [[ $line == "["?"] more" ]] && ! kill -0 "$(<"$tmp/pid")" 2>>"$log"
	ok $? "output that nobody reads any more"
}

# Bytes that are 0 are bytes of a line.
zeros()
{
	"$tools/collrun" -l -n 1 sh -c "printf 'a\\0b\\n\\0end'" 2>&1 </dev/null | tr '\0' . >"$log"
	[[ $(<"$log") == $'[0] a.b\n[0] .end' ]]
	ok $? "output with bytes that are 0"
}

# returns NAME STATUS ARGUMENT...: the exit status of collrun with these arguments
returns()
{
	local status

	rm -f "$tmp/there"
	(ulimit -c 0; exec timeout -k 5 60 "$tools/collrun" "${@:3}") >"$log" 2>&1 </dev/null
	status=$?
	echo "exit status $status" >>"$log"
	((status == $2))
	ok $? "$1"
}

stays="trap '' TERM; : >$tmp/there; while :; do sleep 0.1; done"

# wait_there: until a rank has made that file, for 20 seconds at most
wait_there()
{
	local _

	for _ in {1..200}; do
		[[ ! -e $tmp/there ]] || break
		sleep 0.1
	done
	rm -f "$tmp/there"
}

# The first signal ends the job. The second one does not wait for the ranks.
asked_twice()
{
	local job status

	rm -f "$tmp/there"
	"$tools/collrun" -t 60 -g 50 -n 1 sh -c "$stays" >"$log" 2>&1 </dev/null &
	job=$!
	wait_there
	kill $job
	sleep 0.5
	kill $job
	wait $job
	status=$?
	echo "exit status $status" >>"$log"
	((status == 143))
	ok $? "a rank that ignores SIGTERM, and collrun gets it twice"
}

# A shell may be told to ignore SIGCHLD, and collrun inherits that. Not by way of tools/collrun: its
# shell may set the signal back.
no_sigchld()
{
	timeout -k 5 20 bash -c "trap '' CHLD; exec '$top/.build/tools/collrun' -n 2 true" >"$log" 2>&1 </dev/null
	ok $? "SIGCHLD that is ignored"
}

# nohup makes collrun ignore SIGHUP, a shell without job control SIGINT and SIGQUIT of what it starts
# in the background: they do not end the job.
ignored()
{
	local job sig status

	rm -f "$tmp/there"
	nohup "$tools/collrun" -t 60 -n 1 sh -c ": >$tmp/there
		until [ -e $tmp/go ]; do sleep 0.1; done; exit 7" >"$log" 2>&1 </dev/null &
	job=$!
	wait_there
	for sig in HUP INT QUIT; do kill -$sig $job; done
	sleep 0.5
	: >"$tmp/go"
	wait $job
	status=$?
	echo "exit status $status" >>"$log"
	((status == 7))
	ok $? "signals that collrun ignores when it starts"
}

# stalls NAME STATUS REDIRECT ARGUMENT...: stdout and stderr go by REDIRECT, where 5 is a pipe that
# nobody reads. collrun ends all the same, and soon.
stalls()
{
	local reader status

	exec 5> >(exec sleep 1000)
	reader=$!
	(eval "exec $3"; exec timeout -k 5 30 "$tools/collrun" "${@:4}") 2>"$log" </dev/null
	status=$?
	exec 5>&-
	kill $reader
	echo "exit status $status" >>"$log"
	((status == $2))
	ok $? "output that nobody reads: $1"
}

# stalls_at KIND: the same for a terminal or a socket
stalls_at()
{
	timeout -k 5 60 python3 - "$tools/collrun" "$1" >"$log" 2>&1 </dev/null <<-END
		import os, socket, subprocess, sys
		if sys.argv[2] == "terminal":
		    keep, fd = os.openpty()
		else:
		    keep, other = socket.socketpair()
		    fd = other.fileno()
		sys.exit(subprocess.run([sys.argv[1], *"-l -t 1 -g 1 -n 2 yes".split()],
		                        stdout=fd, timeout=30).returncode != 124)
	END
	ok $? "output that nobody reads: a $1"
}

# More output than fits into pipes and buffers, and a reader that comes late
late()
{
	local rank status

	"$tools/collrun" -l -n 4 seq 200000 2>"$log" </dev/null | (sleep 2; cat) >"$tmp/late"
	status=${PIPESTATUS[0]}
	for rank in {0..3}; do
		sed -n "s/^\[$rank\] //p" "$tmp/late" | cmp - <(seq 200000) >>"$log" 2>&1 || status=1
	done
	((status == 0 && $(wc -l <"$tmp/late") == 4 * 200000))
	ok $? "output whose reader is late: all of it, in whole lines"
}

# Nobody reads what collrun says about a rank that has failed. With -k the others go on.
no_stderr()
{
	rm -f "$tmp/end"
	# shellcheck disable=SC2016  # the ranks' shell expands it
	"$tools/collrun" -k -n 3 sh -c 'sleep $((3 - COLL_RANK)); [ $COLL_RANK = 0 ] || exit 3; : >'"$tmp/end" \
		2>&1 </dev/null | true
	((PIPESTATUS[0] == 3)) && [[ -e $tmp/end ]]
	ok $? "messages that nobody reads do not end the job"
}

# stdout and stderr share a file.
to_file()
{
	"$tools/collrun" -l -n 1 sh -c 'seq 100000; seq 100000 >&2' >"$log" 2>&1 </dev/null
	(($(grep -c '^\[0\] [0-9]*$' "$log") == 200000 && $(wc -l <"$log") == 200000))
	ok $? "output that goes to a file"
}

# cpus_of COMMAND...: the CPU lists of 5 ranks, in the order of ranks
cpus_of()
{
	"$@" -b -l -n 5 sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status 2>>"$log" </dev/null |
		sort | tr '\n' ' '
}

# The ranks take the CPUs of collrun in turn, and no others.
bind()
{
	local want='' rank n last

	n=$(nproc)
	last=$(taskset -cp $$ | sed 's/.*[-, :]//')
	for rank in {0..4}; do
		want+="[$rank] $((rank % n)) "
	done
	: >"$log"
	[[ $(cpus_of "$tools/collrun") == "$want" ]] &&
		[[ $(cpus_of taskset -c "$last" "$tools/collrun") == \
			"[0] $last [1] $last [2] $last [3] $last [4] $last " ]]
	ok $? "a CPU for each rank"
}

# A shell's tee in a rank, and one that is a child of collrun from the beginning, get all output.
tees()
{
	local rank status=0

	# shellcheck disable=SC2016  # the ranks' shell expands it
	"$tools/collrun" -n 2 bash -c 'seq 50000 > >(sleep 0.1; cat >'"$tmp"'/tee.$COLL_RANK)' \
		>"$log" 2>&1 </dev/null || status=1
	bash -c "exec > >(sleep 0.5; cat >$tmp/tee.2); exec '$top/.build/tools/collrun' -n 1 seq 50000" \
		2>>"$log" </dev/null || status=1
	sleep 1
	for rank in {0..2}; do
		cmp "$tmp/tee.$rank" <(seq 50000) >>"$log" 2>&1 || status=1
	done
	ok $status "the tee of a rank's shell, and of the shell before collrun"
}

# with_signals NAME SCRIPT: lines of Python, with collrun as p and a function start
with_signals()
{
	timeout -k 5 60 python3 - "$top/.build/tools/collrun" >"$log" 2>&1 </dev/null <<-END
		import os, signal, subprocess, sys, time
		def start(*args):
		    p = subprocess.Popen([sys.argv[1], *args], stdout=subprocess.PIPE, text=True)
		    p.stdout.readline()
		    return p
		def state(pid):
		    return open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()[0]
		$2
	END
	ok $? "$1"
}

plan 31
bind
tees
with_signals "SIGINT ends collrun itself, too" '
p = start("-n", "1", "sh", "-c", "echo there; sleep 1000")
p.send_signal(signal.SIGINT)
assert p.wait() == -signal.SIGINT, p.returncode'
with_signals "one request that comes as two signals" '
p = start("-g", "50", "-n", "1", "sh", "-c", "trap \"sleep 1; exit 5\" TERM; echo there; while :; do sleep 0.1; done")
os.kill(p.pid, signal.SIGTERM)
os.kill(p.pid, signal.SIGTERM)
begin = time.monotonic()
assert p.wait() == 143, p.returncode
assert time.monotonic() > begin + 0.8, "the rank had no time"'
with_signals "SIGTSTP stops the ranks and the time of the job" '
p = start("-t", "3", "-n", "1", "sh", "-c", "echo \$\$; exec sleep 2")
time.sleep(0.2)
rank = int(open(f"/proc/{p.pid}/task/{p.pid}/children").read())
p.send_signal(signal.SIGTSTP)
time.sleep(4)
assert state(p.pid) == "T" and state(rank) == "T", (state(p.pid), state(rank))
p.send_signal(signal.SIGCONT)
assert p.wait() == 0, p.returncode'
returns "a rank that aborts because another has failed" 7 -n 2 sh -c "
	[ \$COLL_RANK = 1 ] || { trap 'kill -ABRT \$\$' TERM; : >$tmp/there; while :; do sleep 0.1; done; }
	until [ -e $tmp/there ]; do sleep 0.1; done; exit 7"
ends "a daemon" 0 -n 1 -- "setsid sh $tmp/stay & $until_there"
ends "the child of a daemon" 0 -n 1 -- "$daemon"
ends "children of a daemon, many generations" 0 -n 1 -- "setsid sh -c '
	deep() { if [ \$1 = 0 ]; then sh $tmp/stay; else (deep \$((\$1 - 1)); :); fi; :; }
	deep 20' & $until_there"
ends "the child of a daemon, when the time of the job is over" 124 -n 1 -t 20 -- "$daemon; sleep 1000"
many_pipes
endless
pipe_of_others
unread
zeros
returns "a rank that ignores SIGTERM, when the time of the job is over" 124 \
	-t 1 -g 1 -n 1 sh -c "$stays"
returns "a rank that ignores SIGTERM, when another has failed" 3 -g 1 -n 2 sh -c "
	[ \$COLL_RANK = 1 ] || { $stays; }
	until [ -e $tmp/there ]; do sleep 0.1; done; exit 3"
asked_twice
returns "a rank that SIGTERM makes abort, when the time of the job is over" 124 \
	-t 1 -n 1 sh -c 'trap "kill -ABRT \$\$" TERM; while :; do sleep 0.1; done'
no_sigchld
ignored
stalls "the time of the job is over" 124 '>&5' -l -t 1 -g 1 -n 2 yes
stalls "the same, and messages of collrun go there, too" 124 '>&5 2>&5' -l -t 1 -g 1 -n 2 yes
stalls "the same, without -l" 124 '>&5 2>&5' -t 1 -g 1 -n 2 yes
stalls "a rank has failed" 3 '>&5' -l -t 20 -g 1 -n 2 sh -c "yes & sleep 1; exit 3"
stalls "the ranks have ended before" 124 '>&5' -l -t 2 -g 1 -n 2 seq 20000
stalls_at terminal
stalls_at socket
late
no_stderr
to_file
finish
