#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module is not unloaded while it is in use, and is when it is not, though packets of its
# sockets are still on their way.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

module=/run/collvm/coll.ko

loaded()
{
	[[ -d /sys/module/coll ]]
}

# load: as it was before
load()
{
	loaded || insmod "$module"
}

# unload SECONDS: rmmod works within SECONDS
unload()
{
	local end=$((SECONDS + $1))

	until rmmod coll 2>>"$log"; do
		((SECONDS < end)) || return
		sleep 0.05
	done
	! loaded
}

busy()
{
	local pid bad=0

	"$tools/collrun" -t 200 -n 4 --nodes 2 "$tools/collperf" allreduce -b 64K -e 64K \
		-n 100000000 >/dev/null 2>&1 </dev/null &
	pid=$!
	for _ in $(seq 1000); do
		[[ $(cat /sys/module/coll/refcnt) == 0 ]] || break
		sleep 0.1
	done
	for _ in $(seq 20); do
		! rmmod coll 2>"$log" || bad=1
		sleep 0.05
	done
	kill -TERM "$pid"
	wait "$pid"
	loaded && ((!bad))
	ok $? "in use: refused"
	load
}

# The ranks of both nodes have left, and then the network of the nodes is removed. A node that
# waits for the other one does so for a minute.
after_jobs()
{
	local bad=0

	for _ in $(seq 6); do
		echo 60 >/sys/module/coll/parameters/dead_after
		"$tools/collrun" -t 200 -n 4 --nodes 2 "$tools/collperf" allreduce -b 8 -e 8 \
			>"$log" 2>&1 </dev/null || bad=1
		unload 30 || bad=1
		load || bad=1
	done
	((!bad))
	ok $? "unloaded right after a job, six times"
}

# The last packets come long after everything is closed.
late_packets()
{
	tc qdisc add dev lo root netem delay "$1" 2>"$log" || { skip "$2" "no netem"; return; }
	"$COLL_TEST_BUILD/rmmod_rank" >"$log" 2>&1
	# 128 + SIGALRM. The links linger, so the module is in use; rmmod must not wait for them.
	(($? == 142)) && ! timeout 5 rmmod coll 2>>"$log" && grep -q "in use" "$log" && unload 30
	ok $? "$2"
	tc qdisc del dev lo root
	load || echo "# coll.ko could not be loaded again"
}

again()
{
	for _ in $(seq 3); do
		unload 10 && load || break
	done
	loaded && "$tools/collrun" -t 200 -n 2 "$tools/collperf" allreduce -b 4 -e 4K -f 16 \
		-n 3 --check >"$log" 2>&1 </dev/null && right "$log"
	ok $? "unloaded and loaded three times, then it works"
}

plan 4
if [[ ! -r $module ]]; then
	for name in busy jobs late again; do
		skip "$name" "no $module"
	done
	finish
fi
busy
after_jobs
late_packets 700ms "packets under way when all is closed"
again
finish
