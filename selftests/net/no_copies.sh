#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A rank that is alone on its node sends from its input, and folds with it. Local steps are of
# kind 3; with nothing timed before, vectors this long are collperf's only.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

test_no_copies()
{
	local tracing=/sys/kernel/tracing event how ranks nodes algorithm local_steps status

	event=$tracing/events/coll/coll_segment
	trace_no_names
	for how in "2 2 mesh_full" "4 4 recursive_doubling" "4 2 mesh_full"; do
		read -r ranks nodes algorithm <<<"$how"
		if [[ ! -d $event ]]; then
			skip "local steps of $algorithm, $ranks ranks, $nodes nodes" "no tracepoint"
			continue
		fi
		echo >$tracing/trace
		echo 1 >$event/enable
		COLL_SELECT=off "$tools/collrun" -t 200 -n "$ranks" --nodes "$nodes" "$tools/collperf" \
			allreduce --check --outofplace --ioctl -A "$algorithm" -b 256K -e 256K -n 3 -w 0 \
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

plan 3
test_no_copies
finish
