#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several links between two nodes: all collectives over them, parts of communicators, a
# rank that is killed, and how many links are chosen on networks that are and are not
# limited for each flow.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

build=${COLL_TEST_BUILD:?}

# As a rank: limit each flow out of our own node, once, and go on.
# shellcheck disable=SC2016  # the rank expands it
shaped='
dev=$(ip -o link | sed -n "s/^[0-9]*: \([^:@]*\).*/\1/p" | grep -v "^lo$" | head -n 1)
tc qdisc add dev "$dev" root fq maxrate "$RATE" 2>/dev/null
tc qdisc show dev "$dev" | grep -q maxrate || exit 9
exec "$@"'

# As a rank: say what links have carried, while it runs, if it is one that says.
# shellcheck disable=SC2016
shown='
"$@" & pid=$!
[ "$COLL_RANK" = 0 ] || { wait $pid; exit; }
for i in $(seq 300); do
	"$COLLCTL" show | grep -q "stripe 5: up, sent [0-9]\{8,\}" && break
	sleep 0.1
done
"$COLLCTL" show | grep "stripe"
kill $pid
wait $pid'

# As a rank: die in the middle, if we are the one.
# shellcheck disable=SC2016
dies='
[ "$COLL_RANK" = 1 ] || exec "$@"
"$@" & pid=$!
for i in $(seq 300); do
	"$COLLCTL" show | grep -q "stripe 3: up, sent [0-9]\{8,\}" && break
	sleep 0.1
done
kill -9 $pid
wait $pid'

# every RANKS NODES STRIPES: all collectives by all algorithms, cut into small parts
every()
{
	"$tools/collrun" -t 250 -n "$1" --nodes "$2" -e "COLL_STRIPES=$3" "$build/all_rank" \
		"$big" >"$log" 2>&1 </dev/null
	ok $? "all collectives, $1 ranks, $2 nodes, COLL_STRIPES=$3"
	grep '^#' "$log"
}

# parts RANKS NODES STRIPES
parts()
{
	local seed=${COLL_TEST_SEED:-$RANDOM}

	"$tools/collrun" -t 200 -n "$1" --nodes "$2" -e "COLL_STRIPES=$3" "$build/split_rank" \
		use "$seed" >"$log" 2>&1 </dev/null
	ok $? "parts of all kinds, $1 ranks, $2 nodes, COLL_STRIPES=$3, seed $seed"
}

# refused VALUE
refused()
{
	"$tools/collrun" -t 200 -n 2 --nodes 2 -e "COLL_STRIPES=$1" "$tools/collperf" barrier \
		>"$log" 2>&1 </dev/null
	(($? != 0)) && grep -q "coll_init: invalid argument\|invalid argument or" "$log"
	ok $? "COLL_STRIPES=$1 is refused"
}

# rows that show payload of DATA on stripe $1
carried()
{
	awk -v s="$1:" '$6 == s && $9 > 1000000 { n++ } END { exit !n }' "$log"
}

big=$(largest 50003 10007)
cases="2:2:2:1000 2:2:8:4096 3:3:3:1000 4:2:2:4096 5:3:8:1000 4:4:3"
((${COLL_TEST_SCALE:-100} >= 100)) || cases="2:2:8:1000 5:3:3:4096"

plan $(($(wc -w <<<"$cases") + 19))
for one in $cases; do
	IFS=: read -r ranks nodes stripes <<<"$one"
	every "$ranks" "$nodes" "$stripes"
done
parts 5 3 3:256
parts 6 2 8:64
parts 8 4 8:64
perf "in place, odd counts" -n 3 --nodes 3 -e COLL_STRIPES=3:1000 \
	-- allreduce -b 20012 -e 4000012 -f 5 --inplace
perf "far more than scratch has room for" -n 3 --nodes 3 -e COLL_STRIPES=3 -- \
	allreduce -b 32M -e 32M -n 2 -w 1 -o sum_exact -d f32
for value in 0 9 x 3: 3:x 3:0 auto: 12; do
	refused "$value"
done

"$tools/collrun" -t 200 -n 2 --nodes 2 -e COLL_STRIPES=3 -e "COLLCTL=$tools/collctl" sh -c "$shown" \
	rank "$tools/collperf" allreduce -b 4M -e 4M -n 100000 >"$log" 2>&1 </dev/null
carried 1 && carried 3 && carried 5 && ! carried 7
ok $? "all three links carry data"

"$tools/collrun" -t 200 -k -n 4 --nodes 2 -e COLL_STRIPES=4 -e "COLLCTL=$tools/collctl" \
	sh -c "$dies" rank \
	"$tools/collperf" allreduce -b 4M -e 4M -n 100000 >"$log" 2>&1 </dev/null
(($(grep -c "a rank or its host is dead; first: rank 1 .* ended by signal 9" "$log") == 3))
ok $? "a rank is killed: the others hear who"

# chosen COLLRUN-OPTIONS...: by the debugging output of rank 0; nothing where none was
chosen()
{
	"$tools/collrun" -t 200 -n 2 --nodes 2 -e COLL_DEBUG=1 "$@" "$tools/collperf" allreduce \
		-b 1M -e 4M -f 4 -n 3 -w 1 --check >"$log" 2>&1 </dev/null && right "$log" &&
		sed -n 's/.*\[0\].*large collectives go over \([1-8]\) links.*/\1/p' "$log"
}

links=$(chosen)
ok $((${PIPESTATUS[0]} || ${#links})) "nodes on one machine: nothing is measured unless asked for"
links=$(chosen -e COLL_STRIPES=auto)
[[ $links == [1-8] ]]
ok $? "auto, where links are as fast as memory: $links of them"
if ! tc qdisc add dev lo root fq maxrate 100mbit 2>"$log"; then
	skip "a limit for each flow: auto takes more than one link" "no fq"
	skip "and they are faster" "no fq"
	finish
fi
tc qdisc del dev lo root
time_of()
{
	"$tools/collrun" -t 200 -n 2 --nodes 2 -e RATE="${rate:-100mbit}" "$@" sh -c "$shaped" rank \
		"$tools/collperf" allreduce -b 1M -e 1M -n 3 -w 1 --check 2>&1 </dev/null |
		tee -a "$log" | awk '$1 == 1048576 && $NF == 0 { print int($6) }'
}

# Between nodes of one kernel pages are lent, and only headers cross the link: not so here.
mode=/sys/module/coll/parameters/send_mode
lend=$(cat $mode)
echo copy >$mode
: >"$log"
free=$(rate=10gbit time_of -e COLL_STRIPES=1)
# A measurement takes milliseconds, and the machine may stand still for some.
for _ in {1..6}; do
	one=$(time_of -e COLL_STRIPES=1)
	auto=$(time_of -e COLL_STRIPES=auto -e COLL_DEBUG=1)
	grep -q "\[0\].*large collectives go over [2-8] links" "$log" &&
		((one && auto && auto * 10 < one * 8)) && break
done
# 1 MiB each way takes 84 ms at this rate. A machine that needs a third of that is a limit itself.
if ((free > 30000 || one > 130000)); then
	skip "a limit for each flow: auto takes more than one link" "$free us without a limit"
	skip "and they are faster" "$one us over one link: the machine is slower than the link"
else
	grep -q "\[0\].*large collectives go over [2-8] links" "$log"
	ok $? "a limit for each flow: auto takes more than one link"
	((one && auto && auto * 10 < one * 8))
	ok $? "and they are faster: $auto us, over one link $one"
fi
echo "$lend" >$mode
finish
