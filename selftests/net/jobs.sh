#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whole jobs: their end when one of them fails, what collctl shows meanwhile,
# strangers at the rendezvous, and the example that computes something.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"


test_kill()
{
	local start=$SECONDS pid victim status

	"$tools/collrun" -t 60 -n 6 --nodes 3 -r /tmp/ranks "$tools/collperf" allreduce \
		-b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null &
	pid=$!
	until [[ -s /tmp/ranks ]] || ((SECONDS - start > 30)); do sleep 0.1; done
	sleep 2
	victim=$(awk '$1 == 4 { print $2 }' /tmp/ranks)
	start=$SECONDS
	kill -KILL "$victim"
	wait "$pid"
	status=$?
	echo "status $status after $((SECONDS - start)) s" >>"$log"
	((status != 0 && status != 124 && SECONDS - start <= 10))
	ok $? "kill -9 of a rank ends the job"
	# Files that commands in flight hold go with the ring, after the process.
	for _ in $(seq 50); do
		! "$tools/collctl" list 2>/dev/null | tail -n +2 | grep -q . && break
		sleep 0.1
	done
	! "$tools/collctl" list 2>/dev/null | tail -n +2 | grep -q .
	ok $? "nothing of it is left in the kernel"
}

test_collctl()
{
	local pid

	"$tools/collrun" -t 60 -n 4 --nodes 2 "$tools/collperf" allreduce \
		-b 64K -e 64K -n 100000000 >"$log" 2>&1 </dev/null &
	pid=$!
	for _ in $(seq 100); do
		"$tools/collctl" list >/tmp/list 2>&1
		(($(grep -c . /tmp/list) >= 3)) &&
			"$tools/collctl" --json show 2>/dev/null | grep -q '"ops": [1-9][0-9]' && break
		sleep 0.1
	done
	"$tools/collctl" list >/tmp/list 2>&1 && "$tools/collctl" show >/tmp/show 2>&1 &&
		(($(grep -c . /tmp/list) >= 3)) && [[ -s /tmp/show ]]
	ok $? "collctl list and show during a run"
	"$tools/collctl" --json show >/tmp/json 2>&1 && python3 -m json.tool /tmp/json >/dev/null
	ok $? "collctl --json"
	python3 - /tmp/json <<-'END'
	import json, sys
	said = json.load(open(sys.argv[1]))
	late = any(g["ops"] < 1 or g["work-ns"] + g["call-ns"] == 0 for g in said["groups"])
	idle = any(m["bytes"] < 1 or m["call-ns"] == 0 for m in said["members"])
	sys.exit(late or idle or len(said["members"]) != 4)
	END
	ok $? "time and bytes of groups and members are counted"
	kill -TERM "$pid"
	wait "$pid"
	(($? != 0))
	ok $? "SIGTERM to collrun ends the job"
}

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

test_strangers()
{
	local rank

	# shellcheck disable=SC2016
	rank='
	host=${COLL_RENDEZVOUS%:*} port=${COLL_RENDEZVOUS##*:}
	if [ "$COLL_RANK" = 1 ]; then
		for i in 1 2 3 4 5; do
			(
				exec 2>/dev/null
				until exec 3<>"/dev/tcp/$host/$port"; do sleep 0.1; done
				[ $i = 1 ] || head -c $((i * 100)) /dev/urandom >&3
				sleep $i
			) >/dev/null &
		done
	fi
	exec "$@"'
	"$tools/collrun" -t 200 -n 4 --nodes 2 bash -c "$rank" rank "$tools/collperf" \
		allreduce -b 4K -e 4K -n 5 --check >"$log" 2>&1 </dev/null && right "$log"
	ok $? "strangers at the rendezvous do not disturb"
}

test_kmeans()
{
	local data=$tools/examples/data/iris.csv kmeans=$top/.build/tools/kmeans

	"$kmeans" -k 3 "$data" >/tmp/one 2>"$log" </dev/null &&
		"$tools/collrun" -t 200 -n 4 --nodes 2 "$kmeans" -k 3 "$data" >/tmp/four 2>>"$log" </dev/null &&
		cmp /tmp/one /tmp/four >>"$log" && [[ -s /tmp/one ]]
	ok $? "kmeans on two nodes: the same digits as alone"
}

# Blocking calls do the work of their links themselves; for others a thread of the process
# does, where the kernel can, else workers.
test_who_works()
{
	local how pid ranks=--ioctl

	[[ $(printf '%s\n' 6.10 "$(uname -r)" | sort -V | head -n 1) != 6.10 ]] || ranks=all

	for how in --ioctl ""; do
		"$tools/collrun" -t 60 -n 2 --nodes 2 "$tools/collperf" allreduce \
			-b 1M -e 1M -n 100000000 $how >"$log" 2>&1 </dev/null &
		pid=$!
		for _ in $(seq 100); do
			sleep 0.1
			"$tools/collctl" --json show >/tmp/json 2>>"$log" &&
				grep -q '"ops": [1-9][0-9]' /tmp/json && break
		done
		sleep 1
		"$tools/collctl" --json show >/tmp/json 2>>"$log"
		kill -TERM "$pid"
		wait "$pid"
		python3 - /tmp/json "$how" "$ranks" <<-'END'
		import json, sys
		groups = json.load(open(sys.argv[1]))["groups"]
		calls = sum(g["call-ns"] for g in groups)
		works = sum(g["work-ns"] for g in groups)
		print("calls", calls, "works", works)
		sys.exit(len(groups) != 2 or (calls > works) != (sys.argv[3] in ("all", sys.argv[2])))
		END
		ok $? "who works for ${how:-io_uring}"
	done
}

# Those who come first have sent when the others are not there yet: that is to wake nobody.
test_nobody_works()
{
	local tracing=/sys/kernel/tracing event passes

	[[ -d $tracing/events ]] || mount -t tracefs none $tracing
	event=$tracing/events/workqueue/workqueue_execute_start
	if [[ ! -d $event ]]; then
		skip "nobody works for who is not there" "no tracepoint"
		return
	fi
	echo >$tracing/trace
	echo 1 >$event/enable
	"$tools/collrun" -t 200 -n 4 --nodes 4 "${COLL_TEST_BUILD:?}/late_rank" 200 >"$log" 2>&1 </dev/null
	echo "exit status $?" >>"$log"
	echo 0 >$event/enable
	passes=$(grep -c "function coll_conn_work" $tracing/trace)
	echo "$passes times a worker came for a link, in 200 barriers of 4 ranks" | tee -a "$log"
	grep -q "^exit status 0" "$log" && ((passes < 400))
	ok $? "nobody works for who is not there"
}

# A rank that is alone on its node sends from its input, and folds with it. Local steps are of
# kind 3; with nothing timed before, vectors this long are collperf's only.
test_no_copies()
{
	local tracing=/sys/kernel/tracing event how ranks nodes algorithm local_steps status

	[[ -d $tracing/events ]] || mount -t tracefs none $tracing
	event=$tracing/events/coll/coll_segment
	for how in "2 2 mesh_full" "4 4 recursive_doubling" "4 2 mesh_full"; do
		read -r ranks nodes algorithm <<<"$how"
		if [[ ! -d $event ]]; then
			skip "local steps of $algorithm, $ranks ranks, $nodes nodes" "no tracepoint"
			continue
		fi
		echo >$tracing/trace
		echo 1 >$event/enable
		COLL_SELECT=off "$tools/collrun" -t 60 -n "$ranks" --nodes "$nodes" "$tools/collperf" \
			allreduce --check --ioctl -A "$algorithm" -b 256K -e 256K -n 3 -w 0 \
			>"$log" 2>&1 </dev/null
		status=$?
		echo 0 >$event/enable
		local_steps=$(grep -c "coll_segment:.* kind=3 .* len=65536$" $tracing/trace)
		echo "$local_steps times 64 KiB went through a local step" | tee -a "$log"
		# On a node of two the inputs have to be put together.
		((!status && (local_steps > 0) == (ranks > nodes)))
		ok $? "local steps of $algorithm, $ranks ranks, $nodes nodes"
	done
}

plan 15
test_kmeans
test_kill
test_who_works
test_nobody_works
test_no_copies
test_collctl
test_strangers
test_link_down
finish
