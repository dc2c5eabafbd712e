#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# layers.sh on a small tree that keeps the rules, and with one of them broken.

layers=$(cd "$(dirname "$0")" && pwd)/layers.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
nr=0
status=0

result() {
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - layers: $2"
	else
		echo "not ok $nr - layers: $2"
		sed 's/^/# /' "$dir/out"
		status=1
	fi
}

# put FILE LINE...: a file with a license and these lines
put() {
	f=$dir/tree/$1
	shift
	mkdir -p "$(dirname "$f")"
	{
		echo '/* SPDX-License-Identifier: GPL-2.0 */'
		for line; do
			echo "$line"
		done
	} >"$f"
}

good_tree() {
	rm -rf "$dir/tree"
	put uapi/linux/coll.h '#include <linux/types.h>'
	put kmod/pure/env.h '#include <linux/types.h>' '#include <linux/coll.h>'
	put kmod/pure/wire.h '#include "env.h"'
	put kmod/simd/simd.h '#include "../pure/env.h"'
	put kmod/simd/impl.h '#include "simd.h"'
	put kmod/compat.h '#include <linux/version.h>' \
		'#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)' '#endif'
	put kmod/core/op.h '#include <linux/kref.h>' '#include "../pure/wire.h"' \
		'#include "../compat.h"'
	put kmod/core/op.c '#include "op.h"' '#include "../simd/simd.h"' \
		'#include "pure/wire.h"' '#include <linux/coll.h>'
	put kmod/xport/tcp.h '#include "../core/op.h"' '#include "../pure/wire.h"'
	put kmod/front/chrdev.h '#include "../core/op.h"' '#include <linux/coll.h>'
	put kmod/main.c '#include "core/op.h"' '#include "xport/tcp.h"' \
		'#include "front/chrdev.h"'
	put Makefile
	put .gitignore
}

# broken NAME PATTERN: the tree is refused, with a line that matches
broken() {
	sh "$layers" "$dir/tree" >"$dir/out" 2>&1
	[ $? -eq 1 ] && grep -v '^warning' "$dir/out" | grep -q "$2"
	result $? "refused: $1"
	good_tree
}

good_tree
sh "$layers" "$dir/tree" >"$dir/out" 2>&1
result $? "a good tree"

put kmod/core/mem/bad.c '#include "../group/group.h"'
put kmod/core/group/group.h
broken "a room -> one above it" 'core/mem must not include core/group'
put kmod/core/cellar/bad.c '#include "../op.h"'
broken "a directory of core that is no room" 'outside the layers'
put kmod/core/bad.h 'int coll_op_post(void);'
put kmod/core/op.c 'int coll_op_post(void)' '{' '}'
broken "a function in the header of another file" 'kmod/core/bad.h declares coll_op_post()'
put libcoll_user/bad.h 'int comm_new(void) __attribute__((nonnull(1, 2)));'
put libcoll_user/select/comm.c 'int comm_new(void)' '{' '}'
broken "the same in the library" 'libcoll_user/bad.h declares comm_new()'
put kmod/core/a.c 'int coll_a(void)' '{' '	return coll_b();' '}'
put kmod/core/b.c 'int coll_b(void)' '{' '	return coll_c();' '}'
put kmod/core/c.c 'int coll_c(void)' '{' '	return coll_a();' '}'
broken "a circle of files" 'a circle: kmod/core/a kmod/core/b kmod/core/c'
put libcoll_user/a/a.c 'int a(void)' '{' '	return b();' '}'
put libcoll_user/b/b.c 'int b(void)' '{' '	return 0;' '}'
put libcoll_user/b/c.c 'int c(void)' '{' '	return a();' '}'
broken "a circle of rooms" 'a circle: libcoll_user/a libcoll_user/b'
put kmod/core/a.c '/* Under group->lock. */' 'static int coll_a(void)' '{' '	return 0;' '}'
broken "a lock that is described, not asserted" 'coll_a() does not assert'
put kmod/core/a.c 'static int coll_a_locked(void)' '{' '	return 0;' '}'
broken "a lock in the name, not asserted" 'coll_a_locked() does not assert'
put kmod/core/a.c 'static void coll_a(void)' '{' '	lockdep_assert_held(&lock);' '}'
broken "an asserted lock that is not in the name" 'coll_a() runs under a lock'
put kmod/xport/bad.c 'int coll_error(void)' '{' '	return ch->link.group->error;' '}'
broken "a transport that looks into a group" 'kmod/xport/bad.c looks into a group'
put kmod/pure/bad.h '#include "../core/op.h"'
broken "pure -> core" 'kmod/pure/bad.h:2: pure must not include core'
put kmod/pure/bad.h '#include <linux/slab.h>'
broken "a kernel header in pure" 'kmod/pure/bad.h:2: <linux/slab.h>'
put kmod/simd/bad.c '#  include	<asm/fpu/api.h>'
broken "a kernel header in simd" 'kmod/simd/bad.c:2: <asm/fpu/api.h>'
put kmod/simd/bad.c '#include "../core/op.h"'
broken "simd -> core" 'simd must not include core'
put kmod/core/bad.c '#include "../simd/impl.h"'
broken "core -> another header of simd" 'simd.h only'
put kmod/core/bad.c '#include "../xport/tcp.h"'
broken "core -> xport" 'core must not include xport'
put kmod/core/bad.c '#include "front/chrdev.h"'
broken "core -> front, found from kmod/" 'core must not include front'
put kmod/xport/bad.c '#include "../front/chrdev.h"'
broken "xport -> front" 'xport must not include front'
put kmod/xport/bad.c '#include "../simd/simd.h"'
broken "xport -> simd" 'xport must not include simd'
put kmod/front/bad.c '#include "../pure/wire.h"'
broken "front -> pure" 'front must not include pure'
put kmod/front/bad.c '#include "../xport/../xport/tcp.h"'
broken "front -> xport" 'front must not include xport'
put kmod/pure/bad.h '#include "../compat.h"'
broken "pure -> compat.h" 'pure must not include compat.h'
put kmod/main.c '#include "pure/wire.h"'
broken "main.c -> pure" 'main.c must not include pure'
put kmod/compat.h '#include "core/op.h"'
broken "compat.h -> core" 'compat.h must not include core'
put kmod/extra/bad.c '#include "../core/op.h"'
broken "a directory that is no layer" 'outside the layers'
put kmod/core/bad.c '#if LINUX_VERSION_CODE > 1' '#endif'
broken "a kernel-version test" 'kmod/core/bad.c:2:.*LINUX_VERSION_CODE'
echo 'int x;' >"$dir/tree/kmod/core/bad.c"
broken "a file without a license" 'kmod/core/bad.c: no SPDX'
put notes.txt
broken "a stray file at the top" 'notes.txt: no such thing'
put scratch/x.c
broken "a stray directory at the top" 'scratch: no such thing'

echo "1..$nr"
exit $status
