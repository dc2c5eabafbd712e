#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How ranks find each other where names are not what one would like, and what they are told
# if they do not. Two hosts, each a network namespace with a /etc/hosts of its own.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

if [[ -z $COLL_BOOT_INSIDE ]]; then
	COLL_BOOT_INSIDE=1 exec unshare -mn "$0"
fi

rank=${COLL_TEST_BUILD:?}/boot_rank
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"; kill "$other" 2>/dev/null' EXIT
: >"$tmp/go"
unshare -n sleep 1000 &
other=$!
while [[ $(readlink /proc/$other/ns/net) == "$(readlink /proc/self/ns/net)" ]]; do
	sleep 0.05
done
there=(nsenter -t "$other" -n)
ip link set lo up
ip link add v0 type veth peer name v1 netns "$other"
ip addr add 10.9.0.1/24 dev v0
ip -6 addr add fd00:9::1/64 dev v0 nodad
ip link set v0 up
"${there[@]}" sh -c 'ip link set lo up; ip addr add 10.9.0.2/24 dev v1; ip link set v1 up'

export COLL_KEY=any COLL_TIMEOUT_MS=20000
port=7100

# start HOST RANK SIZE RENDEZVOUS HOSTS-FILE [NODE]: its output goes to $tmp/rank.RANK
start()
{
	local net=()

	[[ $1 == b ]] && net=("${there[@]}")
	COLL_NODE=${6:-$1} COLL_RANK=$2 COLL_SIZE=$3 COLL_RENDEZVOUS=$4 timeout 60 "${net[@]}" \
		unshare -m sh -c "mount --bind $5 /etc/hosts && exec $rank $mode" \
		>"$tmp/rank.$2" 2>&1 </dev/null &
	pids+=($!)
}

# all: 0 if every rank started has ended with 0
all()
{
	local p ret=0

	for p in "${pids[@]}"; do
		wait "$p" || ret=1
	done
	pids=()
	cat "$tmp"/rank.* >"$log"
	rm -f "$tmp"/rank.*
	port=$((port + 1))
	return $ret
}

hosts()
{
	local name=$1

	shift
	printf '%s\n' "127.0.0.1 localhost" "$@" >"$tmp/$name"
}

plan 10
pids=()
mode=

hosts late
start a 0 2 later:$port "$tmp/late"
start b 1 2 later:$port "$tmp/late"
sleep 2
hosts late "10.9.0.1 later"
all
ok $? "a name that can be resolved two seconds later"

hosts own "127.0.1.1 alpha"
hosts real "10.9.0.1 alpha"
start a 0 2 alpha:$port "$tmp/own"
start b 1 2 alpha:$port "$tmp/real"
all
ok $? "rank 0 has its own name as 127.0.1.1"

# Node 1 is on the other host, and has to connect to node 2, which came by 127.0.1.1.
start a 0 3 alpha:$port "$tmp/own" x
start b 1 3 alpha:$port "$tmp/real" y
start a 2 3 alpha:$port "$tmp/own" z
all
ok $? "a leader beside rank 0 came by 127.0.1.1, and is reached from another host"

hosts both "fd00:9::1 alpha" "10.9.0.1 alpha"
start a 0 2 alpha:$port "$tmp/both"
start b 1 2 alpha:$port "$tmp/both"
all
ok $? "a name of both families, where one host has no IPv6"

hosts service "10.96.0.7 alpha"
start a 0 2 alpha:$port "$tmp/service"
start b 1 2 alpha:$port "$tmp/real"
all
ok $? "rank 0 has its name as an address that is not its own"

hosts several "10.9.0.77 alpha" "10.9.0.78 alpha" "10.9.0.1 alpha"
start a 0 2 alpha:$port "$tmp/real"
start b 1 2 alpha:$port "$tmp/several"
all
ok $? "nobody answers at the first two addresses of the name"

COLL_TIMEOUT_MS=15000
start a 0 2 alpha:$port "$tmp/real"
COLL_KEY=other start b 1 2 alpha:$port "$tmp/real"
all
[[ $(grep -c "error -129" "$log") == 2 ]] && grep -q "rank 1 (10.9.0.2:.*) has another key" "$log"
ok $? "rank 0 is told which rank has another key"

COLL_TIMEOUT_MS=20000 mode=elsewhere
start a 0 3 alpha:$port "$tmp/real" same
start a 1 3 alpha:$port "$tmp/real" same
start b 2 3 alpha:$port "$tmp/real" far
all
[[ $(grep -c "error -18" "$log") == 3 ]]
ok $? "ranks that believe to share a kernel and do not are told"
mode=

# The hosts have link-local addresses alone, with the name of the interface of each host.
ip addr flush dev v0 scope global
"${there[@]}" ip addr flush dev v1 scope global
local6=$(ip -6 -o addr show dev v0 scope link | awk '{ sub("/.*", "", $4); print $4 }')
start a 0 3 "[$local6%v0]:$port" "$tmp/real" x
start b 1 3 "[$local6%v1]:$port" "$tmp/real" y
start a 2 3 "[$local6%v0]:$port" "$tmp/real" z
all
ok $? "hosts that have link-local addresses alone"

nodes=$(largest 48 34)
COLL_TIMEOUT_MS=280000 "$tools/collrun" -t 600 -n "$nodes" --nodes "$nodes" "$rank" >"$log" 2>&1 </dev/null
ok $? "$nodes nodes, all linked with all"
finish
