#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two hosts, a rank on each: large allreduces with and without loss, and a host that
# stops, or dies.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/../net/lib.sh"

rank=${COLL_TEST_BUILD:?}/two_rank
kernel=${KERNEL:-debian-6.1}
report=$(mktemp)
trap 'rm -f "$log" "$report"' EXIT
ops=$((4 + ${COLL_TEST_SCALE:-100} / 5))
loss=5
dead_after=5
most_ms=$((dead_after * 1000 + 10 * ${COLL_TEST_BOUND_MS:-2000}))

COLL_KEY=$(od -An -N 16 -t x8 /dev/urandom | tr -d ' \n')
export COLL_KEY COLL_SELECT=off

# As a VM: the environment of its rank
# shellcheck disable=SC2016  # the VM expands it
guest='
rank=$1 ops=$2
set -- $COLLVM_HOSTS
export COLL_RANK=$COLLVM_INDEX COLL_SIZE=$COLLVM_VMS COLL_RENDEZVOUS=$1:7000
dev=$(ip -o -4 addr show | awk -v me="${*:COLLVM_INDEX + 1:1}" "index(\$4, me \"/\") == 1 { print \$2 }")
'
# phase NAME MODE: allreduces, sent in that mode, and what collctl knows of the links then
# shellcheck disable=SC2016
all_on_one=$guest'
phase()
{
	echo "$2" >/sys/module/coll/parameters/send_mode
	"$rank" "$ops" "'"$tools"'/collctl --json show | sed -n \"s/.*\({.*tx-bytes.*}\).*/link $1 \1/p\""
	echo "$1: status $?"
}
phase clean ubuf
tc qdisc add dev "$dev" root netem loss '$loss'%
phase lossy ubuf
ops=$((ops / 2))
phase spliced splice
tc -s qdisc show dev "$dev" | sed -n "s/.*dropped \([0-9]*\).*/lost \1 packets/p"
tc qdisc del dev "$dev" root
echo ubuf >/sys/module/coll/parameters/send_mode
echo '$dead_after' >/sys/module/coll/parameters/dead_after
"$rank" 0
exit 0'
# shellcheck disable=SC2016
until_death=$guest'
echo '$dead_after' >/sys/module/coll/parameters/dead_after
"$rank" 0
exit 0'

# vms SCRIPT: two of them, $report says how they do
vms()
{
	"$tools/collvm" run --kernel "$kernel" --vms 2 --cpus 1 --mem 512 --timeout 800 \
		--grace 60 --report "$report" -- bash -c "$1" guest "$rank" "$ops" 2>&1 </dev/null
}

now_ms()
{
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# watch SCRIPT SIGNAL: runs it, into $log; VM 1 gets the signal while its rank and
# that of VM 0 are in an op, and $ms is how much later that of VM 0 knew
watch()
{
	local out line pid='' since

	ms=''
	: >"$log"
	exec {out}< <(vms "$1")
	while read -r -t 810 -u "$out" line; do
		echo "$line" >>"$log"
		if [[ $line == "[0] rank 0: op 3 is done" ]]; then
			sleep 0.2	# into the next one
			pid=$(awk '$1 == "pid" && $2 == 1 { print $3 }' "$report")
			since=$(now_ms)
			kill "-$2" "$pid"
		elif [[ $pid && $line == "[0] rank 0: op "*" failed after "* ]]; then
			ms=$(($(now_ms) - since))
			[[ $2 != STOP ]] || kill -CONT "$pid"
		fi
	done
	exec {out}<&-
	echo "known after ${ms:-?} ms, $most_ms at most" >>"$log"
	grep -E 'all right|lost|failed after|known after' "$log" | sed 's/^/# /'
}

# both PATTERN: has each VM said a line like that?
both()
{
	grep -qE "^\[0\] $1" "$log" && grep -qE "^\[1\] $1" "$log"
}

# uncopied PHASE: did both give 99 of 100 bytes to the card as they were, headers and all?
uncopied()
{
	python3 - "$log" "$1" <<-'END'
	import json, re, sys
	sent, free = [0, 0], [0, 0]
	for line in open(sys.argv[1]):
	    m = re.match(r"\[([01])\] link " + sys.argv[2] + r" (\{.*\})", line)
	    if m:
	        link = json.loads(m.group(2))
	        sent[int(m.group(1))] += link["tx-bytes"]
	        free[int(m.group(1))] += link["tx-zerocopy"]
	for vm in 0, 1:
	    print(f"# VM {vm}, {sys.argv[2]}: of {sent[vm]} bytes {free[vm]} were not copied")
	sys.exit(not all(sent[vm] and free[vm] >= 0.99 * sent[vm] for vm in (0, 1)))
	END
}

in_time()
{
	[[ $ms ]] && ((ms <= most_ms)) && grep -qE '^\[0\] rank 0: op .*: EHOSTDOWN;' "$log"
}

plan 10
watch "$all_on_one" STOP
both "clean: status 0"
ok $? "$ops allreduces of 16 MiB, buffers overwritten at once"
both "lossy: status 0" && both "lost [1-9][0-9]* packets"
ok $? "the same, $loss % of packets lost each way"
uncopied clean
ok $? "99 of 100 bytes were sent without a copy"
uncopied lossy
ok $? "and where packets were lost"
both "spliced: status 0"
ok $? "spliced, with loss: buffers overwritten at once"
in_time
ok $? "a host that stops in the middle of an op is EHOSTDOWN within $most_ms ms"
grep -qE '^\[1\] rank 1: op .*: EHOSTDOWN;' "$log"
ok $? "when it goes on it is told so"
grep -qx 'status 0 0' "$report" && grep -qx 'status 1 0' "$report"
ok $? "both kernels came out clean"
watch "$until_death" KILL
in_time
ok $? "a host that dies in the middle of an op is EHOSTDOWN within $most_ms ms"
grep -qx 'status 0 0' "$report"
ok $? "the kernel of the other came out clean"
finish
