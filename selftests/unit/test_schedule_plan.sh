#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tools/collplan beside its checker: the textbook's figures, pictures, orders of ranks.

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
make -s -C "$top/tools" "$top/.build/tools/collplan" >&2 || exit 1
plan=$top/.build/tools/collplan
examples=$top/tools/examples
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
nr=0

# result STATUS NAME
result()
{
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
	fi
}

# row ALGORITHM: steps, bytes of all, bytes of the longest message; 5 participants, 1000 B
row()
{
	"$plan" cost allreduce "$1" -p 5 -b 1000 |
		awk -v a="$1" '$2 == a { print $3, $4, $8 }'
}

# D p (p - 1), 2 D (p - 1), D/p per step; 1, 2, O(log p), 2 (p - 1) transfers
[ "$(row mesh_full)" = '1 20000 1000' ]; result $? 'textbook: mesh_full'
[ "$(row root)" = '2 8000 1000' ]; result $? 'textbook: root'
[ "$(row tree)" = '4 8000 1000' ]; result $? 'textbook: tree'
[ "$(row ring_naive)" = '8 8000 1000' ]; result $? 'textbook: ring_naive'
[ "$(row ring)" = '8 8000 200' ]; result $? 'textbook: ring'

"$plan" cost allreduce -p 4096 --crossover >"$work/cross"
grep -q '^recursive_doubling -> rabenseifner *from' "$work/cross" &&
	grep -q '^recursive_doubling -> ring *from' "$work/cross" &&
	grep -q '^rabenseifner *-> ring *from' "$work/cross"
result $? 'crossovers at 4096'

"$plan" cost -p 65536 -b 1M >"$work/large" && ! grep -qE 'nan|inf' "$work/large"
result $? 'cost at 65536 participants'

bad=0
"$plan" list | awk 'NR > 1 && $3 ~ /^[0-9]+$/ { print $1, $2 }' >"$work/list"
while read -r collective algorithm; do
	"$plan" show "$collective" "$algorithm" -p 5 --svg "$work/svg" >"$work/text" &&
		grep -q '^round 0' "$work/text" && tail -n 1 "$work/svg" | grep -q '</svg>' ||
		bad=1
done <"$work/list"
[ $bad -eq 0 ] && [ "$(wc -l <"$work/list")" -gt 40 ]
result $? 'show, with a picture, of every algorithm'

# stretch FILE [HOW]: as numbered, in the order found, lower bound
stretch()
{
	"$plan" order "$@" | tr '\n' ' ' |
		sed 's/.*ring: \([0-9.]*\) as.*order ([a-z]*), not below\|/\1 &/
		     s/.*ring: \([0-9.]*\) as numbered, \([0-9.]*\) in this.*below \([0-9.]*\) in.*/\1 \2 \3/'
}

[ "$(stretch "$examples/topology-2racks")" = '5.0000 2.0000 2.0000' ] &&
	[ "$(stretch "$examples/topology-2racks" --heuristic)" = '5.0000 2.0000 2.0000' ]
result $? 'order: two racks, bad numbering'

# racks SEED HOSTS RACKS: hosts of the racks in random order, ways of random length
racks()
{
	awk -v seed="$1" -v n="$2" -v r="$3" 'BEGIN {
		srand(seed)
		for (i = 0; i < r; i++)
			print "switch s" i
		print "switch top"
		for (i = 0; i < r; i++)
			print "link s" i " top 40G " 10 + int(rand() * 30) "us"
		for (i = 0; i < n; i++) {
			print "host h" i
			print "link h" i " s" int(rand() * r) " 10G " 2 + int(rand() * 9) "us"
		}
	}'
}

bad=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
	racks $seed 8 3 >"$work/topology"
	best=$(stretch "$work/topology" --exact)
	[ "$best" ] && [ "$(stretch "$work/topology" --heuristic)" = "$best" ] || bad=1
done
result $bad 'order: the heuristic finds the best of 8 hosts, 12 times'

for r in 2 16; do
	racks 5 512 $r >"$work/topology"
	stretch "$work/topology" >"$work/stretch"
	awk '{ good = $2 <= 1.1 * $3 && $2 < $1 } END { exit !good }' "$work/stretch"
	result $? "order: 512 hosts in $r racks, $(cat "$work/stretch")"
done

"$plan" order "$examples/topology-2racks" >"$work/order"
"$plan" cost allreduce ring -b 1M --topology "$examples/topology-2racks" |
	grep -q 'stretch 5.000' &&
	"$plan" cost allreduce ring -b 1M --topology "$examples/topology-2racks" \
		--order "$work/order" | grep -q 'stretch 2.000'
result $? 'cost on a topology, in a better order'

bad=0
for args in 'show allreduce nothing -p 5' 'show nothing ring -p 5' 'cost allreduce -p 0 -b 1' \
	    'show broadcast binomial -p 5 -r 5' 'order /dev/null' 'order /nowhere' 'nothing'; do
	# shellcheck disable=SC2086 # words on purpose
	"$plan" $args >"$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ -s "$work/err" ] || bad=1
done
result $bad 'wrong arguments are refused with a word'
echo "1..$nr"
