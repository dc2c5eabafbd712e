#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: static.sh KERNEL...: layers, checkpatch, and sparse for each kernel.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
collvm=$top/tools/collvm
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
good=0
bad=0

# result NAME STATUS LOG
result()
{
	if (($2 == 0)); then
		good=$((good + 1))
		echo "ok $((good + bad)) - $1"
	else
		bad=$((bad + 1))
		head -n 40 "$3"
		echo "not ok $((good + bad)) - $1"
	fi
}

layers()
{
	sh "$top/selftests/unit/layers.sh" >"$work/log" 2>&1
	result layers $? "$work/log"
}

# What checkpatch says of a tree that is not the kernel's own is left out.
ignored=FILE_PATH_CHANGES,LINUX_VERSION_CODE,EMBEDDED_FILENAME,SPDX_LICENSE_TAG
ignored+=,MACRO_ARG_REUSE,TRACING_LOGGING

style()
{
	local kdir

	kdir=$("$collvm" path "$1" kdir)
	[[ -f $kdir/scripts/checkpatch.pl ]] || kdir=$("$collvm" path "$1" src)
	(cd "$top" && git ls-files kmod uapi | grep '\.[ch]$' |
	 xargs perl "$kdir/scripts/checkpatch.pl" --no-tree --no-summary --terse \
		--quiet --strict --max-line-length=100 --ignore "$ignored" -f) >"$work/log" 2>&1
	result "checkpatch --strict" $? "$work/log"
}

# Out-of-tree builds write beside the source: so the source is a copy.
sparse_one()
{
	local kernel=$1 arch=() dir=$work/$1

	[[ $kernel == uml* ]] && arch=(ARCH=um)
	mkdir -p "$dir"
	cp -a "$top/Kbuild" "$top/kmod" "$top/uapi" "$dir"
	make -s -C "$("$collvm" path "$kernel" kdir)" M="$dir" "${arch[@]}" W=1 C=2 \
		-j"$(nproc)" modules >"$work/log" 2>&1
	# kernel headers have complaints of their own
	grep -E "^(kmod|$dir/kmod)/[^ ]*: (warning|error)" "$work/log" >"$work/ours"
	[[ -f $dir/coll.ko && ! -s $work/ours ]]
	result "sparse on $kernel" $? "$work/log"
}

echo "1..$((2 + $#))"
for kernel in "$@"; do
	"$collvm" fetch "$kernel" --quiet || exit 1
done
layers
style "$1"
for kernel in "$@"; do
	sparse_one "$kernel"
done
echo "static: $good passed, $bad failed"
((bad == 0))
