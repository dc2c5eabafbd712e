#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Communicators that share links: no socket more, no order that stops anybody, deaths
# that concern their own part, and all of it without sharing and on a bad network.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=("${COLL_TEST_BUILD:?}/share_rank")
options=()

# As a rank: make the network of our own node bad, once, and go on.
# shellcheck disable=SC2016  # the rank expands it
worse='
dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
tc qdisc add dev "$dev" root netem $NETEM 2>/dev/null
tc qdisc show dev "$dev" | grep -q netem || exit 9
exec "$@"'

# order RANKS NODES COPIES BYTES NAME
order()
{
	local seed=${COLL_TEST_SEED:-$RANDOM}

	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "${options[@]}" "${rank[@]}" order "$3" "$4" "$seed" \
		>"$log" 2>&1 </dev/null
	ok $? "$1 ranks, $2 nodes, $3 copies, $(($4 / 1024)) KiB, each rank in its order, $5, seed $seed"
}

# sockets RANKS NODES MORE: may there be MORE (0 or 1) sockets than before?
sockets()
{
	local more

	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "${options[@]}" "${rank[@]}" sockets 8 >"$log" 2>&1 </dev/null &&
		more=$(sed -n 's/.*sockets //p' "$log" | sort -n | tail -n 1) &&
		[[ $more ]] && (((more > 0) == $3))
	ok $? "8 copies, $1 ranks, $2 nodes: ${more:-?} sockets more"
}

# storm RANKS NODES VICTIM BYTES NAME
storm()
{
	local status

	"$tools/collrun" -t 200 -k -n "$1" --nodes "$2" "${options[@]}" "${rank[@]}" storm "$3" "$4" \
		>"$log" 2>&1 </dev/null
	status=$?
	echo "status $status" >>"$log"
	((status == 137)) && (($(grep -c 'heard it$' "$log") == $1 - 1))
	ok $? "a rank dies at work, the other part works on, $1 ranks, $2 nodes, $5"
}

large=$(largest 16777216 1048576)
medium=$(largest 4194304 262144)

plan 15
sockets 4 2 0
sockets 6 3 0
order 2 2 1 "$large" shared
order 4 2 1 "$large" shared
order 3 3 3 "$medium" shared
order 4 4 8 100000 shared
order 8 2 16 4096 shared
storm 4 2 1 "$medium" shared
storm 6 3 0 "$medium" shared
storm 8 4 7 100000 shared

if tc qdisc add dev lo root netem delay 1ms 2>"$log"; then
	tc qdisc del dev lo root
	good=("${rank[@]}")
	options=(-e "NETEM=delay 2ms 1ms loss 2% reorder 10%")
	rank=(sh -c "$worse" rank "${good[@]}")
	order 4 2 4 "$(largest 300000 30000)" "on a bad network"
	rank=("${good[@]}")
else
	skip "on a bad network" "no netem: $(head -n 1 "$log")"
fi

options=(-e COLL_NO_SHARE=1)
sockets 4 2 1
order 4 2 2 "$medium" "not shared"
storm 4 2 1 "$medium" "not shared"

nothing_left
ok $? "nothing of all this is left in the kernel"
finish
