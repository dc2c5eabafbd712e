#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: static.sh KERNEL: layers, indices, and the checkpatch of that kernel, or of uml if it has
# none. What sparse says comes with the build, see kernel.sh.

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

# Messages of checkpatch are ignored that fit code in the newest kernel only, and in the
# kernel only: version tests stand in compat.h, kzalloc_obj() is not
# in 6.1, ARRAY_SIZE() not in user space. The one yield() says why.
ignored=LINUX_VERSION_CODE,CONSTANT_COMPARISON,ALLOC_WITH_SIZEOF,ARRAY_SIZE,YIELD
# Vector types are typedefs, and one macro makes a function per operator.
templates=NEW_TYPEDEFS,COMPLEX_MACRO,MACRO_WITH_FLOW_CONTROL
templates+=,PREFER_DEFINED_ATTRIBUTE_MACRO,SPACING

style()
{
	local kdir

	# Debian's kernels come as headers, without that script. The source of uml has it.
	kdir=$("$collvm" path "$1" kdir)
	[[ -f $kdir/scripts/checkpatch.pl ]] || kdir=$("$collvm" path uml src)
	(cd "$top" && git ls-files 'kmod/*.[ch]' 'uapi/*.h' | grep -vE '(pure/reduction|simd)/(reduce|exact)' |
	 xargs perl "$kdir/scripts/checkpatch.pl" --no-tree --no-summary --terse \
		--quiet --ignore "$ignored" -f) >"$work/log" 2>&1
	result checkpatch $? "$work/log"
	(cd "$top" && git ls-files 'kmod/simd/reduce*.[ch]' 'kmod/pure/reduction/reduce*.[ch]' \
		'kmod/pure/reduction/exact.[ch]' |
	 xargs perl "$kdir/scripts/checkpatch.pl" --no-tree --no-summary --terse \
		--quiet --ignore "$ignored,$templates" -f) >"$work/log" 2>&1
	result "checkpatch of vector code" $? "$work/log"
}

speculation()
{
	sh "$top/selftests/nospec.sh" >"$work/log" 2>&1
	result "indices from outside go through array_index_nospec()" $? "$work/log"
}

echo 1..4
"$collvm" fetch "$1" --quiet || exit 1
layers
speculation
style "$1"
echo "static: $good passed, $bad failed"
((bad == 0))
