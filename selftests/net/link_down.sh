#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The network of a node goes away: its peer takes it for dead, and the job ends.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

test_link_down()
{
	local start pid rank

	# shellcheck disable=SC2016  # the rank expands it
	rank='
	dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
	[ "$COLL_RANK" != 0 ] || { sleep 3; ip link set "$dev" down; } &
	exec "$@"'
	echo 2 >/sys/module/coll/parameters/dead_after
	start=$SECONDS
	"$tools/collrun" -t 60 -n 2 --nodes 2 sh -c "$rank" rank "$tools/collperf" \
		allreduce -b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null
	pid=$?
	echo "status $pid after $((SECONDS - start)) s" >>"$log"
	((pid != 0 && pid != 124 && SECONDS - start <= 40))
	ok $? "a network that is gone is a peer that is dead"
	echo 10 >/sys/module/coll/parameters/dead_after
}

plan 1
test_link_down
finish
