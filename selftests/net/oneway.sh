#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A network that loses all in one direction: both sides notice.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

cut=$(mktemp)
trap 'rm -f "$cut" "$log"' EXIT

# As a rank: what node $MUTE sends is lost as soon as ops have run. The time of that is in $CUT.
# shellcheck disable=SC2016  # the rank expands it
rank='
dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
mute()
{
	for i in $(seq 300); do
		"$COLLCTL" --json show 2>&1 | grep -q "\"ops\": [1-9]" && break
		sleep 0.2
	done
	tc qdisc add dev "$dev" root netem loss 100% && date +%s >"$CUT"
}
[ "$COLL_RANK" != "$MUTE" ] || mute &
exec "$@"'

# one_way NAME RANK: both ranks say that the other one is dead, soon. On a slow machine that may be
# in coll_init(), where collperf says "collperf: RANK: ...". A job that dies before the cut says
# nothing.
one_way()
{
	local _ status took

	for _ in 1 2 3; do
		cut_off "$2"
		[[ ! -s $cut ]] || break
	done
	((status != 0 && status != 124 && took <= 30)) &&
		grep -q '\(rank\|collperf:\) 0: .* is dead' "$log" &&
		grep -q '\(rank\|collperf:\) 1: .* is dead' "$log"
	ok $? "$1"
}

# cut_off RANK: a job whose rank RANK is cut off: status, and how long it took
cut_off()
{
	: >"$cut"
	nothing_left
	"$tools/collrun" -k -t 200 -n 2 --nodes 2 -e "MUTE=$1" -e "CUT=$cut" \
		-e "COLLCTL=$tools/collctl" sh -c "$rank" rank \
		"$tools/collperf" allreduce -b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null
	status=$?
	took=$(($(date +%s) - $(grep . "$cut" || echo 0)))
	echo "status $status, $took s after the network was cut" >>"$log"
}

plan 2
if ! tc qdisc add dev lo root netem delay 1ms 2>"$log"; then
	skip "from node 0" "no netem"
	skip "from node 1" "no netem"
	finish
fi
tc qdisc del dev lo root
echo 2 >/sys/module/coll/parameters/dead_after
one_way "what node 0 sends is lost" 0
one_way "what node 1 sends is lost" 1
echo 10 >/sys/module/coll/parameters/dead_after
finish
