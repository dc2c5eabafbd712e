#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Messages with the library, on one node and on several, by io_uring and without.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/p2p_rank
seed=${COLL_TEST_SEED:-$RANDOM}

# talk RANKS NODES NAME ARGS...
talk()
{
	local ranks=$1 nodes=$2 name=$3

	shift 3
	"$tools/collrun" -t 400 -n "$ranks" --nodes "$nodes" "$rank" "$@" >"$log" 2>&1 </dev/null
	ok $? "$name, $ranks ranks, $nodes nodes"
}

# 10,000 messages where there are four ranks, else fewer
many()
{
	local n=1500

	((${1%:*} != 4)) || n=10000
	((${COLL_TEST_SCALE:-100} >= 100)) || n=$((n / 10))
	echo "$n"
}

# On one node small collectives go through shared memory, whatever has been measured.
export COLL_SHM_LIMIT=16384

cases='1:1 2:1 4:1 2:2 4:2 4:4 5:3'
((${COLL_TEST_SCALE:-100} >= 100)) || cases='1:1 4:1 4:2 5:3'

plan $(($(wc -w <<<"$cases") * 5 + 10))
echo "# COLL_TEST_SEED=$seed"
for one in $cases; do
	ranks=${one%:*} nodes=${one#*:}
	talk "$ranks" "$nodes" "shifts round the ring" ring
	talk "$ranks" "$nodes" "random messages, seed $seed" storm "$seed" "$(many "$one")"
	talk "$ranks" "$nodes" "between collectives" mixed
	talk "$ranks" "$nodes" "probes" probe 50
	talk "$ranks" "$nodes" "persistent, in place, own ring, parts" ways
done
# Many more in flight than any fixed table would hold.
talk 2 1 "many at once" flood "$(($(many 4) * 2))"
talk 2 2 "many at once" flood "$(($(many 4) * 2))"
# Early frames of one group may take 112 MiB: less than 4 MiB for each of these nodes. The sockets
# take 4 MiB, so that the messages stand behind the data.
tcp=/proc/sys/net/ipv4
rmem=$(<$tcp/tcp_rmem) wmem=$(<$tcp/tcp_wmem)
echo 4096 $((8 << 20)) $((8 << 20)) | tee $tcp/tcp_wmem >$tcp/tcp_rmem
COLL_TIMEOUT_MS=150000 talk 36 36 "messages behind data" behind "$((5 << 20))"
echo "$rmem" >$tcp/tcp_rmem
echo "$wmem" >$tcp/tcp_wmem
export COLL_NO_URING=1
one=${cases##* }
talk "${one%:*}" "${one#*:}" "without io_uring: ring" ring
talk "${one%:*}" "${one#*:}" "without io_uring: random messages" storm "$seed" "$(many "$one")"
talk "${one%:*}" "${one#*:}" "without io_uring: between collectives" mixed
talk "${one%:*}" "${one#*:}" "without io_uring: probes" probe 50
talk "${one%:*}" "${one#*:}" "without io_uring: persistent, in place" ways
talk 2 1 "without io_uring: many at once" flood "$(($(many 4) * 2))"
talk 2 2 "without io_uring: many at once" flood "$(($(many 4) * 2))"
finish
