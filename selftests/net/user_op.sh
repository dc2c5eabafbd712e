#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Operators of the user's own in every collective that reduces.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/user_op_rank
big=$(largest 100003 10007)

# user_op RANKS NODES BIG [COLLRUN-OPTIONS]
user_op()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "${@:4}" "$rank" "$3" >"$log" 2>&1 </dev/null
	ok $? "user operators, $1 ranks, $2 nodes, up to $3 elements${4:+, $5}"
	grep '^#' "$log"
}

# Ranks, nodes, and elements of the largest vector
cases="1:1:100 2:1:5003 2:2:$big 3:1:5003 3:2:$big 3:3:5003 4:1:5003 4:2:5003 4:4:$big
	5:1:5003 5:2:5003 5:5:5003 8:1:5003 8:2:5003 8:8:60007"
((${COLL_TEST_SCALE:-100} >= 100)) || cases="3:1:2003 3:3:$big 4:2:2003"

plan $(($(wc -w <<<"$cases") + 1))
for one in $cases; do
	IFS=: read -r ranks nodes many <<<"$one"
	user_op "$ranks" "$nodes" "$many"
done
# Windows overlap without io_uring, too.
user_op 3 3 "$big" --env COLL_NO_URING=1
finish
