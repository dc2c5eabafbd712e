#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: verdict.sh KERNEL: does collvm see what a command leaves behind, and what the kernel says?
# Runs outside, and starts the VMs. Ends with "verdict on KERNEL: N passed, N failed".

top=$(cd "$(dirname "$0")/.." && pwd)
kernel=$1
work=$(mktemp -d "$top/.build/verdict.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# result STATUS NAME
result()
{
	if (($1 == 0)); then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $2"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $2"
		sed 's/^/# /' "$work/log"
	fi
}

# complains LINE [KERNEL]: is that a complaint on the console?
complains()
{
	local kernel=${2:-uml}

	printf '[    1.0] collvm: base\r\n[    2.0] %s\r\n' "$1" >"$work/console"
	# shellcheck source=tools/vm/run.sh
	(. "$top/tools/vm/run.sh" && splats "$work") | grep -q 'the kernel complained'
}

# What the kernels 6.1, 6.12 and 7.2 say
hears_complaints()
{
	local line bad=0

	while read -r line; do
		complains "$line" || { echo "not heard: $line" >>"$work/log"; bad=1; }
	done <<-'END'
	BUG: unable to handle page fault for address: ffffc90000000000
	BUG: scheduling while atomic: rank/17/0x00000002
	watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [rank:17]
	WARNING: CPU: 0 PID: 17 at kmod/core/op.c:17 coll_op_done+0x17/0x20 [coll]
	WARNING: possible circular locking dependency detected
	WARNING: suspicious RCU usage
	Oops: 0000 [#1] PREEMPT SMP NOPTI
	BUG: KASAN: slab-use-after-free in coll_op_done+0x17/0x20 [coll]
	UBSAN: array-index-out-of-bounds in kmod/core/op.c:17:3
	BUG: KCSAN: data-race in coll_op_done / coll_op_start
	INFO: task rank:17 blocked for more than 120 seconds.
	refcount_t: underflow; use-after-free.
	list_add corruption. prev->next should be next (ffff88), but was ffff89.
	list_del corruption, ffff88->next is LIST_POISON1 (dead000000000100)
	rcu: INFO: rcu_sched detected stalls on CPUs/tasks:
	rcu: INFO: rcu_preempt self-detected stall on CPU
	rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 1-... } 5252 jiffies s: 17
	rcu: INFO: rcu_tasks detected stalls on tasks:
	Kernel panic - not syncing: Fatal exception
	END
	return $bad
}

# and nothing else
hears_no_more()
{
	local line bad=0

	! complains "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:" debian-6.12 || bad=1
	while read -r line; do
		! complains "$line" || { echo "heard: $line" >>"$work/log"; bad=1; }
	done <<-'END'
	rcu: Hierarchical RCU implementation.
	rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.
	coll: loading out-of-tree module taints kernel.
	collvm: command ended with status 0
	END
	return $bad
}

# leaves WHAT STATUS PATTERN: what the VM says, and its exit status
leaves()
{
	local status

	"$top/tools/collvm" run --kernel "$kernel" -- "$work/leftover" "$1" \
		>"$work/log" 2>&1 </dev/null
	status=$?
	echo "status $status" >>"$work/log"
	[[ $status == "$2" ]] && { [[ -z $3 ]] || grep -qE "$3" "$work/log"; }
	result $? "$1 left behind"
}

"${CC:-cc}" -O2 -Wall -Wno-unused-parameter -o "$work/leftover" \
	"$top/selftests/verdict.c" -lpthread || exit 1
echo 1..6
: >"$work/log"
hears_complaints
result $? "complaints of the kernel"
: >"$work/log"
hears_no_more
result $? "what is no complaint"
leaves nothing 0 ''
case $kernel in
uml*)	files='file' ;;
*)	files='files' ;;	# one by one they are not counted exactly
esac
leaves "$files" 99 'open files: [0-9]+ before, [0-9]+ after'
leaves socket 99 'sockets: [0-9]+ before, [0-9]+ after'
leaves namespace 99 'network namespaces: [0-9]+ before, [0-9]+ after'
echo "verdict on $kernel: $passed passed, $failed failed"
((failed == 0))
