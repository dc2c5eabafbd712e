#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: kernel.sh KERNEL: gets the kernel, and builds coll.ko for it without a
# single warning.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
kernel=$1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
good=0
bad=0

ok()	{ good=$((good + 1)); echo "ok $((good + bad)) - $*"; }
not_ok()	{ bad=$((bad + 1)); echo "not ok $((good + bad)) - $*"; }

echo 1..2
if "$top/tools/collvm" fetch "$kernel" --quiet; then
	ok "fetch $kernel"
else
	not_ok "fetch $kernel"
fi
# Only what is compiled anew can warn: so all of it is.
rm -rf "$top/.build/$kernel/src"
if "$top/tools/collvm" build "$kernel" >"$log" 2>&1 &&
   ! grep -qi warning "$log"; then
	ok "coll.ko for $kernel, W=1, no warning"
else
	cat "$log"
	not_ok "coll.ko for $kernel, W=1, no warning"
fi
echo "kernel $kernel: $good passed, $bad failed"
((bad == 0))
