#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Named tensors by the library: ranks that join, groups, factors, communicators of some of
# the ranks.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/tensor_sets_rank
seed=${COLL_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
worlds='1:1 2:1 4:1 2:2 4:2 5:3'

plan $((4 * $(wc -w <<<"$worlds")))
echo "# seed $seed"
for what in join groups factors sets; do
	for world in $worlds; do
		"$tools/collrun" -t 200 -n "${world%:*}" --nodes "${world#*:}" "$rank" "$what" \
			"$seed" >"$log" 2>&1 </dev/null && grep -q "^$what: .*: 0 wrong$" "$log"
		ok $? "$what, ${world%:*} ranks, ${world#*:} nodes, seed $seed"
	done
done
finish
