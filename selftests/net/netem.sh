#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bad networks: loss, jitter, disorder, doubles. Slow, but right, and nobody is
# taken for dead.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# As a rank: make the network of our own node bad, once, and go on.
# shellcheck disable=SC2016  # the rank expands it
rank='
dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
tc qdisc add dev "$dev" root netem $NETEM 2>/dev/null
tc qdisc show dev "$dev" | grep -q netem || exit 9
exec "$@"'

# bad_net NAME NETEM-ARGUMENTS
bad_net()
{
	NETEM=$2 "$tools/collrun" -t 200 -n 4 --nodes 2 -e "NETEM=$2" \
		sh -c "$rank" rank "$tools/collperf" allreduce -b 4 -e "$(largest 256K 16K)" \
		-f 16 -n 3 -w 1 --check >"$log" 2>&1 </dev/null && right "$log"
	ok $? "$1"
}

plan 6
if ! tc qdisc add dev lo root netem delay 1ms 2>"$log"; then
	for name in loss jitter reorder duplicate corrupt all; do
		skip "$name" "no netem: $(head -n 1 "$log")"
	done
	finish
fi
tc qdisc del dev lo root
bad_net "loss 3 %" "loss 3%"
bad_net "delay 5 ms, jitter 4 ms" "delay 5ms 4ms"
bad_net "a quarter out of order" "delay 5ms reorder 25% 50%"
bad_net "duplicates" "duplicate 10%"
bad_net "corrupted packets" "corrupt 2%"
bad_net "all of it" "delay 3ms 2ms loss 1% duplicate 2% corrupt 1% reorder 10%"
finish
