#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Many collectives in flight on one communicator, of every kind, over links that are
# fast, slow and bad, and with several of them.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/beside_rank

# As a rank: make the network of our own node bad, once, and go on.
# shellcheck disable=SC2016  # the rank expands it
bad_net='
dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
tc qdisc add dev "$dev" root netem $NETEM 2>/dev/null
tc qdisc show dev "$dev" | grep -q netem || exit 9
exec "$@"'

# storm RANKS NODES OPS NAME [COLLRUN-OPTIONS]
storm()
{
	local ranks=$1 nodes=$2 ops=$3 name=$4 seed=${COLL_TEST_SEED:-$RANDOM}

	shift 4
	((${COLL_TEST_SCALE:-100} >= 100)) || ops=$((ops / 10))
	"$tools/collrun" -t 200 -n "$ranks" --nodes "$nodes" "$@" "$rank" "$ops" "$seed" \
		>"$log" 2>&1 </dev/null
	ok $? "$ranks ranks, $nodes nodes, $ops collectives, seed $seed$name"
}

# bad RANKS NODES OPS NETEM-ARGUMENTS
bad()
{
	local seed=${COLL_TEST_SEED:-$RANDOM} ops=$3

	((${COLL_TEST_SCALE:-100} >= 100)) || ops=$((ops / 10))
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" -e "NETEM=$4" \
		sh -c "$bad_net" rank "$rank" "$ops" "$seed" >"$log" 2>&1 </dev/null
	ok $? "$1 ranks, $2 nodes, $ops collectives, seed $seed, $4"
}

# leave TIMES NETEM-ARGUMENTS
leave()
{
	local i status=0

	for ((i = 0; i < $1 && !status; i++)); do
		"$tools/collrun" -t 200 -n 2 --nodes 2 -e "NETEM=$2" \
			sh -c "$bad_net" rank "$rank" leave >"$log" 2>&1 </dev/null || status=1
	done
	ok $status "one leaves before the last one, $1 times, $2"
}

mode=/sys/module/coll/parameters/send_mode
was=$(cat "$mode")
plan 12
storm 2 2 1500 ""
storm 3 3 1000 ""
storm 6 3 600 ""
storm 8 8 300 ""
storm 4 1 1000 ""
storm 4 4 500 ", 3 links" -e COLL_STRIPES=3
storm 4 4 300 ", no io_uring" -e COLL_NO_URING=1
for m in splice ubuf; do
	echo $m >"$mode"
	storm 3 3 500 ", sent by $m"
done
echo "$was" >"$mode"
if tc qdisc add dev lo root netem delay 1ms 2>/dev/null && tc qdisc del dev lo root; then
	bad 3 3 300 "delay 2ms 1ms"
	bad 4 4 200 "delay 1ms loss 0.5% reorder 10% duplicate 2%"
	leave 5 "delay 5ms rate 50mbit"
else
	skip "a slow network" "no netem"
	skip "a bad network" "no netem"
	skip "one leaves" "no netem"
fi
finish
