#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Where TCP probes the path's MTU no frame goes with a ubuf: a probe refers to pages of the
# buffers that it is made of, and not to their ubuf.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/overwrite_rank
mode=/sys/module/coll/parameters/send_mode

# As a rank, in the network namespace of its node: set the sysctl, and go on.
# shellcheck disable=SC2016  # the rank expands it
probing='
echo "$PROBING" >/proc/sys/net/ipv4/tcp_mtu_probing || exit 9
exec "$@"'

# sent ATTRIBUTE: bytes, of all links that the last run has shown
sent()
{
	grep -o "\"$1\": [0-9]*" "$log" | awk '{ sum += $2 } END { printf "%.0f\n", sum }'
}

# probe VALUE OPS: of the sysctl
probe()
{
	"$tools/collrun" -t 200 -n 2 --nodes 2 -e "PROBING=$1" sh -c "$probing" rank \
		"$rank" "$2" "$tools/collctl" >"$log" 2>&1 </dev/null
	ok $? "tcp_mtu_probing $1: results"
	echo "copied $(sent tx-copied), with ubuf $(sent tx-ubuf)" >>"$log"
	(($(sent tx-copied) > 0 && ($(sent tx-ubuf) > 0) == ($1 == 0)))
	ok $? "tcp_mtu_probing $1: bytes with ubuf $(sent tx-ubuf)"
}

was=$(cat "$mode")
plan 6
echo ubuf >"$mode"
for value in 0 1 2; do
	probe $value 50
done
echo "$was" >"$mode"
finish
