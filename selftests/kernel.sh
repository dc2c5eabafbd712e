#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: kernel.sh KERNEL [KERNELS...]: gets the kernel, and builds coll.ko for it
# without a single warning of the compiler or of sparse. KERNELS are all that are
# looked at: uml-debug is the source of uml, with a slower compiler, so sparse has
# seen enough with uml.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
kernel=$1
src=$top/.build/$kernel/src
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
log=$work/log
export SPARSE_LOG=$work/sparse
good=0
bad=0
args=()

ok()	{ good=$((good + 1)); echo "ok $((good + bad)) - $*"; }
not_ok()	{ bad=$((bad + 1)); echo "not ok $((good + bad)) - $*"; }

# Every object has been checked. Kernel headers may have complaints of their own;
# but after an error sparse keeps others to itself, whosesoever it is.
sparse_clean()
{
	local object source clean=1

	while read -r object; do
		source=kmod/${object#"$src/kmod/"}
		grep -qE "^CHECK (.*/)?${source%.o}\.c$" "$SPARSE_LOG" ||
			{ clean=; echo "${source%.o}.c: sparse did not run"; }
	done < <(find "$src/kmod" -name '*.o')
	grep -E "^(($src/)?kmod/[^ ]*: warning|[^ ]*: error)" "$SPARSE_LOG" && clean=
	[[ $clean && -f $src/coll.ko ]]
}

[[ $kernel == uml-debug && " ${*:2} " == *" uml "* ]] || args=(C=2 CHECK="$top/selftests/sparse.sh")
echo "1..$((${#args[@]} ? 3 : 2))"
if "$top/tools/collvm" fetch "$kernel" --quiet; then
	ok "fetch $kernel"
else
	not_ok "fetch $kernel"
fi
# Only what is compiled anew can warn: so all of it is.
rm -rf "$src"
: >"$SPARSE_LOG"
if "$top/tools/collvm" build "$kernel" "${args[@]}" >"$log" 2>&1 &&
   ! grep -qi warning "$log"; then
	ok "coll.ko for $kernel, W=1, no warning"
else
	cat "$log"
	not_ok "coll.ko for $kernel, W=1, no warning"
fi
if ((${#args[@]})); then
	if sparse_clean >"$log"; then
		ok "sparse on $kernel"
	else
		head -n 40 "$log"
		not_ok "sparse on $kernel"
	fi
fi
echo "kernel $kernel: $good passed, $bad failed"
((bad == 0))
