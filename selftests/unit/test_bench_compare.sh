#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# tools/bench/compare on small tables: what is slower in all rounds is worse, and what is not there
# is missing; nothing else is.

compare=$(cd "$(dirname "$0")/../.." && pwd)/tools/bench/compare
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
nr=0
status=0

# table FILE LEAST MEDIAN MOST: of coll; a peer beside it always takes 10 us
table() {
	{
		echo "setting,place,ranks,who,kind,bytes,metric,least,quartile,median,quartile,most,rounds"
		echo "uml,node,2,coll-ioctl,time,8,p50,$2,$2,$3,$4,$4,3"
		echo "uml,node,2,coll-ioctl,time,8,p99,$2,$2,$3,$4,$4,3"
		echo "uml,node,2,openmpi,time,8,p50,10,10,10,10,10,3"
	} >"$dir/$1"
}

# result WANTED-STATUS LAST-LINE NAME: of compare old new
result() {
	nr=$((nr + 1))
	"$compare" "$dir/old" "$dir/new" >"$dir/out"
	if [ $? -eq "$1" ] && [ "$(tail -n 1 "$dir/out")" = "$2" ]; then
		echo "ok $nr - compare: $3"
	else
		echo "not ok $nr - compare: $3"
		sed 's/^/# /' "$dir/out"
		status=1
	fi
}

echo 1..6
table old 4 5 6
table new 5 6 7
result 0 "compare: 1 rows, 0 better, 1 the same within their spread, 0 worse, 0 missing" "rounds overlap"
table new 6.1 7 8
result 1 "compare: 1 rows, 0 better, 0 the same within their spread, 1 worse, 0 missing" "all rounds slower"
table new 2 3 3.9
result 0 "compare: 1 rows, 1 better, 0 the same within their spread, 0 worse, 0 missing" "all rounds faster"
cp "$dir/old" "$dir/new"
result 0 "compare: 1 rows, 0 better, 1 the same within their spread, 0 worse, 0 missing" "the same"
grep -v coll-ioctl "$dir/old" >"$dir/new"
result 1 "compare: 0 rows, 0 better, 0 the same within their spread, 0 worse, 1 missing" "nothing in common"
cp "$dir/old" "$dir/new"
sed -n 's/coll-ioctl,time,8,p50/coll-uring,time,8,p50/p' "$dir/new" >>"$dir/old"
result 1 "compare: 1 rows, 0 better, 1 the same within their spread, 0 worse, 1 missing" "a row is missing"
exit $status
