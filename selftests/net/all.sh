#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every collective by every algorithm, over other numbers of ranks and nodes.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

rank=${COLL_TEST_BUILD:?}/all_rank
big=$(largest 1000003 20011)

# all RANKS NODES BIG [COLLECTIVE]
all()
{
	"$tools/collrun" -t 250 -n "$1" --nodes "$2" "$rank" "${@:3}" >"$log" 2>&1 </dev/null
	ok $? "${4:+collective }${4:-all collectives}, $1 ranks, $2 nodes"
	grep '^#' "$log"
}

# Ranks, nodes, elements of the largest vector, and a collective if just one: a reduce
# (3) of more inputs than a kernel takes at once
cases="2:1:$big 2:2:$big 3:1:$big 3:2:$big 3:3:$big 4:1:$big 4:2:$big 4:4:$big 5:1:$big
	5:2:$big 5:5:$big 7:1:$big 7:2:$big 7:7:$big 8:1:$big 8:2:$big 8:8:$big 1:1:100 70:1:101:3"
((${COLL_TEST_SCALE:-100} >= 100)) || cases="3:1:2003 3:3:2003 4:2:$big"

# In a sample: cases of one, two and four nodes always, and every third of the others.
sampled()
{
	local one

	for one in $cases; do
		case $one in
		2:2:*|3:1:*|3:3:*|8:2:*|8:8:*|*:*:*:*)
			echo "$one" ;;
		*)
			(($(cksum <<<"$COLL_TEST_SAMPLE $one" | cut -d ' ' -f 1) % 3)) ||
				echo "$one" ;;
		esac
	done
}
[[ -z ${COLL_TEST_SAMPLE-} ]] || cases=$(sampled)

plan "$(wc -w <<<"$cases")"
for one in $cases; do
	IFS=: read -r ranks nodes many only <<<"$one"
	all "$ranks" "$nodes" "$many" ${only:+"$only"}
done
finish
