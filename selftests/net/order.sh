#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# COLL_ORDER: nodes stand in the order of a list, of a file, or of what was measured; ranks
# keep their numbers, and results are what they were.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/order_rank
host=$(hostname)
trap 'rm -f "$log" "$log".*' EXIT

# order NODES RANKS ORDER WANTED: WANTED has the place of the node of each rank, or "no"
order()
{
	"$tools/collrun" -t 200 -n "$2" --nodes "$1" -e "COLL_ORDER=$3" "$rank" "$4" \
		>"$log" 2>&1 </dev/null
}

# Two racks: what collrun has made for nodes 1 and 3 gets a bridge of its own, far away from
# the other one. racks PID-OF-COLLRUN
racks()
{
	local fd

	for fd in "/proc/$1/fd"/*; do
		nsenter --net="$fd" ip link show port3 >/dev/null 2>&1 || continue
		nsenter --net="$fd" sh -e -c '
			ip link add bridge1 type bridge
			ip link set bridge1 up
			ip link add far0 type veth peer name far1
			ip link set far0 master bridge0 up
			ip link set far1 master bridge1 up
			ip link set port1 master bridge1
			ip link set port3 master bridge1
			tc qdisc add dev far0 root netem delay 10ms
			tc qdisc add dev far1 root netem delay 10ms'
		return
	done
	return 1
}

# Ranks wait until the racks are there.
far_apart()
{
	local pid i

	rm -f "$log.ready"
	# shellcheck disable=SC2016  # the rank expands it
	"$tools/collrun" -t 200 -n 4 --nodes 4 -e "COLL_ORDER=$1" sh -c '
		while [ ! -e "$0" ]; do sleep 0.1; done; exec "$@"' "$log.ready" \
		"$rank" "$2" >"$log" 2>&1 </dev/null &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		racks "$pid" 2>>"$log.racks" && break
		sleep 0.1
	done
	touch "$log.ready"
	wait "$pid" && ((i < 100))
}

plan 10
order 4 4 "" "0 1 2 3"
ok $? "as it is"
order 4 4 "$host:2,$host:0,$host:3,$host:1" "1 3 0 2"
ok $? "a list"
order 2 6 "$host:1 $host:0" "1 1 1 0 0 0"
ok $? "several ranks on each node"
printf '# of the machine room\n%s:3\n%s:1 # odd\n\n%s:2\n%s:0\n' "$host" "$host" "$host" "$host" \
	>"$log.order"
order 4 4 "$log.order" "3 1 2 0"
ok $? "a file"
order 4 4 "$host:2,$host:0,$host:3" "no"
ok $? "a node is missing: no communicator"
order 4 4 "$host:2,$host:0,$host:3,$host:1,$host:2" "no"
ok $? "a node twice: likewise"
order 4 4 "$host:2,$host:0,$host:3,nowhere" "no"
ok $? "no such node: likewise"
order 4 4 "/nowhere/at/all" "no"
ok $? "no such file: likewise"
if tc qdisc add dev lo root netem delay 1ms 2>/dev/null; then
	tc qdisc del dev lo root
	far_apart measure near
	ok $? "measured: those who are near stand side by side"
	far_apart "" "0 1 2 3"
	ok $? "not measured: they do not"
else
	skip "measured" "no netem"
	skip "not measured" "no netem"
fi
finish
