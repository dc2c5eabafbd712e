#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# TCP may use a few MiB only, less than all streams together want: a socket with room
# and nothing on its way gets no memory, and nobody tells it when there is some.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

limit=/proc/sys/net/ipv4/tcp_mem
param=/sys/module/coll/parameters/send_mode
was=$(cat "$limit")
mode=$(cat "$param" 2>/dev/null || echo auto)
trap 'echo "$was" >"$limit"; echo "$mode" >"$param"; rm -f "$log" "$log".*' EXIT

# What the sockets of a job wait for: stuck RANKS, as collrun has written them
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

# scarce MODE ALGORITHM. What TCP drops for want of memory it sends again, and waits twice as
# long each time it is dropped once more, up to two minutes, even if the memory is long free
# again.
scarce()
{
	local pid begin=$SECONDS look

	echo "$1" >"$param"
	"$tools/collrun" -t 500 -r "$log.ranks" -n 4 --nodes 4 "$tools/collperf" allreduce -A "$2" \
		-b 4M -e 4M -n 2 -w 1 --check >"$log" 2>&1 </dev/null &
	pid=$!
	# It happens once in many runs: then it is to be known why, and what moves.
	for look in 60 200 400; do
		while [[ -d /proc/$pid ]] && ((SECONDS - begin < look)); do
			sleep 0.1
		done
		[[ ! -d /proc/$pid ]] || stuck "$log.ranks" 2>&1 | sed "s/^/# $look s: /"
	done
	wait "$pid" && right "$log"
	ok $? "$2, sent by $1"
}

plan 4
if ! echo "1000 1500 2000" >"$limit" 2>"$log"; then
	for name in 1 2 3 4; do
		skip "$name" "tcp_mem cannot be set: $(head -n 1 "$log")"
	done
	finish
fi
scarce auto mesh_full
scarce copy mesh_full
scarce splice mesh_full
scarce auto ring
finish
