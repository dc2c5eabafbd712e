#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Strangers connect to the rendezvous and send nothing, or rubbish: the job runs.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

test_strangers()
{
	local rank marks

	marks=$(mktemp -d) || return
	# shellcheck disable=SC2016
	rank='
	host=${COLL_RENDEZVOUS%:*} port=${COLL_RENDEZVOUS##*:}
	if [ "$COLL_RANK" = 1 ]; then
		for i in 1 2 3 4 5; do
			(
				exec 2>/dev/null
				until exec 3<>"/dev/tcp/$host/$port"; do sleep 0.1; done
				: >"$MARKS/$i"
				[ $i = 1 ] || head -c $((i * 100)) /dev/urandom >&3
				sleep $i
			) >/dev/null &
		done
		until [ -e "$MARKS/5" ] && [ -e "$MARKS/4" ] && [ -e "$MARKS/3" ] &&
		      [ -e "$MARKS/2" ] && [ -e "$MARKS/1" ]; do
			sleep 0.05
		done
	fi
	exec "$@"'
	MARKS=$marks "$tools/collrun" -t 200 -n 4 --nodes 2 bash -c "$rank" rank "$tools/collperf" \
		allreduce -b 4K -e 4K -n 5 --check >"$log" 2>&1 </dev/null && right "$log"
	ok $? "strangers at the rendezvous do not disturb"
	rm -rf "$marks"
}

plan 1
test_strangers
finish
