#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The network of a node goes away: its peer takes it for dead, and the job ends.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

cut=$(mktemp)
trap 'rm -f "$cut" "$log"' EXIT

test_link_down()
{
	local _ status took rank

	# As a rank: the time at which the network goes is in $CUT.
	# shellcheck disable=SC2016  # the rank expands it
	rank='
	dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
	down()
	{
		for i in $(seq 300); do
			"$COLLCTL" --json show 2>&1 | grep -q "\"ops\": [1-9]" && break
			sleep 0.2
		done
		ip link set "$dev" down && date +%s >"$CUT"
	}
	[ "$COLL_RANK" != 0 ] || down &
	exec "$@"'
	echo 2 >/sys/module/coll/parameters/dead_after
	# A job that dies before that says nothing.
	for _ in 1 2 3; do
		nothing_left
		"$tools/collrun" -t 200 -n 2 --nodes 2 -e "CUT=$cut" -e "COLLCTL=$tools/collctl" \
			sh -c "$rank" rank "$tools/collperf" \
			allreduce -b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null
		status=$?
		[[ ! -s $cut ]] || break
	done
	took=$(($(date +%s) - $(grep . "$cut" || echo 0)))
	echo "status $status, $took s after the network went" >>"$log"
	((status != 0 && status != 124 && took <= 40)) && grep -q 'is dead' "$log"
	ok $? "a network that is gone is a peer that is dead"
	echo 10 >/sys/module/coll/parameters/dead_after
}

plan 1
test_link_down
finish
