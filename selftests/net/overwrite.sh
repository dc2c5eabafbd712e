#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Buffers that are written over as soon as a call has returned, whichever way the bytes
# were sent, also where many of them are sent more than once.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/overwrite_rank
mode=/sys/module/coll/parameters/send_mode

# As a rank: make the network of our own node bad, once, and go on.
# shellcheck disable=SC2016  # the rank expands it
bad_net='
dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
tc qdisc add dev "$dev" root netem $NETEM 2>/dev/null
tc qdisc show dev "$dev" | grep -q netem || exit 9
exec "$@"'

# Ops of a run, where kernels are slow: a tenth
ops()
{
	if ((${COLL_TEST_SCALE:-100} >= 100)); then
		echo "$1"
	else
		echo $(($1 / 10))
	fi
}

# sent ATTRIBUTE: bytes, of all links that the last run has shown. (print would round
# sums past 2^31, in some awks.)
sent()
{
	grep -o "\"$1\": [0-9]*" "$log" | awk '{ sum += $2 } END { printf "%.0f\n", sum }'
}

# Did large frames go the way that was asked for?
went()
{
	local spliced ubuf zerocopy

	spliced=$(sent tx-spliced) ubuf=$(sent tx-ubuf) zerocopy=$(sent tx-zerocopy)
	case $m in
	copy) ((spliced == 0 && ubuf == 0 && zerocopy == 0)) ;;
	splice) ((spliced > $(sent tx-copied) && ubuf == 0)) ;;
	ubuf) ((spliced == 0 && ubuf > $(sent tx-copied))) ;;
	auto)	# each has been tried, and measured; but for ubuf, which is not for a veth
		((spliced && !ubuf && spliced + $(sent tx-copied) == $(sent tx-bytes))) &&
			(($(sent rate-copy) && $(sent rate-splice) && !$(sent rate-ubuf))) ;;
	esac
	ok $? "$m: bytes spliced $spliced, with ubuf $ubuf, of these not copied $zerocopy"
}

# overwrite RANKS NODES OPS
overwrite()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$rank" "$(ops "$3")" "$tools/collctl" \
		>"$log" 2>&1 </dev/null
	ok $? "$m: $(ops "$3") ops, $1 ranks, $2 nodes"
}

# lossy RANKS NODES OPS NETEM-ARGUMENTS
lossy()
{
	NETEM=$4 "$tools/collrun" -t 200 -n "$1" --nodes "$2" -e "NETEM=$4" \
		sh -c "$bad_net" rank "$rank" "$(ops "$3")" >"$log" 2>&1 </dev/null
	ok $? "$m: $(ops "$3") ops, $1 ranks, $2 nodes, $4"
}

was=$(cat "$mode")
netem=y
tc qdisc add dev lo root netem delay 1ms 2>/dev/null && tc qdisc del dev lo root || netem=
plan 24
for m in copy splice ubuf auto; do
	echo $m >"$mode"
	overwrite 2 2 2000
	went
	overwrite 4 2 1500
	overwrite 5 5 1000
	if [[ $netem ]]; then
		lossy 2 2 500 "loss 1%"
		lossy 3 3 250 "delay 1ms loss 0.5% reorder 10% duplicate 2%"
	else
		skip "$m, loss" "no netem"
		skip "$m, all of it" "no netem"
	fi
done
echo "$was" >"$mode"
finish
