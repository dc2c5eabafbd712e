#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# TCP may use a few MiB only, less than all streams together want.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

limit=/proc/sys/net/ipv4/tcp_mem
param=/sys/module/coll/parameters/send_mode
was=$(cat "$limit")
little="1000 1500 2000"
mode=$(cat "$param" 2>/dev/null || echo auto)
trap 'echo "$was" >"$limit"; echo "$mode" >"$param"; rm -f "$log" "$log".*' EXIT

# stuck RANKS: what the sockets of a job wait for; RANKS as collrun has written them
stuck()
{
	local rank pid

	grep TCP: /proc/net/sockstat
	while read -r rank pid; do
		echo "node of rank $rank:"
		nsenter --net="/proc/$pid/ns/net" ss -tinmOH |
			grep -oE '^ESTAB .*skmem:[^ ]*|(rto|backoff|cwnd|unacked|notsent|lost|retrans):[^ ]*' |
			tr '\n' ' ' | sed 's/ESTAB/\n&/g; s/  */ /g'
		echo
		nsenter --net="/proc/$pid/ns/net" nstat -as |
			awk '/Timeouts|RcvQDrop|Prune|BacklogDrop|Retrans|MemoryPressures|ZeroWindow|WqueueTooBig|RcvCoalesce/ { print $1, $2 }'
	done <"$1"
	"$tools/collctl" show
}

# As a rank: what has its node thrown away for lack of memory?
# shellcheck disable=SC2016  # the rank expands it
dropped='
"$@" || exit
nstat -asz TcpExtTCPRcvQDrop TcpExtTCPOFODrop | awk "/Drop/ { print \"dropped\", \$2 }"'

# once_undropped PROGRAM... as 4 ranks on 4 nodes. All links together want 48 MiB. What TCP has
# on its way when the memory ends it drops, and it may take minutes until it is sent again:
# so it may not end.
once_undropped()
{
	local pid begin=$SECONDS look

	"$tools/collrun" -t 200 -r "$log.ranks" -n 4 --nodes 4 sh -c "$dropped" sh "$@" \
		>"$log" 2>&1 </dev/null &
	pid=$!
	for look in 20 60 150; do
		while [[ -d /proc/$pid ]] && ((SECONDS - begin < look)); do
			sleep 0.1
		done
		[[ ! -d /proc/$pid ]] || stuck "$log.ranks" 2>&1 | sed "s/^/# $look s: /"
	done
	wait "$pid" || return 2
	awk '/dropped/ { n++; sum += $2 } END { exit n != 8 || sum > 8 }' "$log"
}

# A receiver that does not run has data dropped, too: try again then, but after no other error.
undropped()
{
	local i status=1

	for ((i = 0; i < 3 && status == 1; i++)); do
		once_undropped "$@"
		status=$?
	done
	return $status
}

# scarce MODE ALGORITHM
scarce()
{
	echo "$1" >"$param"
	undropped "$tools/collperf" allreduce -A "$2" -b 4M -e 4M -n 2 -w 1 --check &&
		sed '/dropped/d' "$log" >"$log.perf" && right "$log.perf"
	ok $? "$2, sent by $1: hardly anything is dropped for want of memory"
}

# Whole messages, both ways on each link.
messages()
{
	undropped "$COLL_TEST_BUILD/p2p_rank" ring
	ok $? "messages: hardly anything is dropped for want of memory"
}

# starved MODE. Others have it all for a while.
starved()
{
	echo "$1" >"$param"
	echo "$little" >"$limit"
	"$tools/collrun" -t 200 -n 2 --nodes 2 "$COLL_TEST_BUILD/starve_rank" >"$log" 2>&1 </dev/null
	ok $? "others have all the memory for a while, sent by $1"
}

# pressed RANKS NODES NAME PROGRAM...: always short of memory, so that a channel begins
# nothing while it has 64 KiB on its way.
pressed()
{
	echo auto >"$param"
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "${@:4}" >"$log" 2>&1 </dev/null
	ok $? "always short of memory: $3, $1 ranks, $2 nodes"
}

seed=${COLL_TEST_SEED:-$RANDOM}
plan 12
if ! echo "$little" >"$limit" 2>"$log"; then
	for name in $(seq 12); do
		skip "$name" "tcp_mem cannot be set: $(head -n 1 "$log")"
	done
	finish
fi
scarce auto mesh_full
scarce copy mesh_full
scarce splice mesh_full
scarce auto ring
messages
starved copy
starved splice
starved ubuf
echo "1 1 1000000" >"$limit"
pressed 3 3 "all collectives" "$COLL_TEST_BUILD/all_rank" "$(largest 100003 40009)"
pressed 4 2 "all collectives" "$COLL_TEST_BUILD/all_rank" "$(largest 100003 40009)"
pressed 3 3 "messages" "$COLL_TEST_BUILD/p2p_rank" ring
pressed 6 3 "collectives side by side, seed $seed" "$COLL_TEST_BUILD/beside_rank" "$(largest 300 30)" "$seed"
finish
