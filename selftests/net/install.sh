#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The files that make install has put below $COLL_TEST_BUILD/root, with the prefix /opt/coll,
# are used without the tree.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

root=${COLL_TEST_BUILD:?}/root

if [[ -z $COLL_INSTALL_INSIDE ]]; then
	COLL_INSTALL_INSIDE=1 exec unshare -m "$0"
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$log"' EXIT
mount -t tmpfs none /opt
mkdir /opt/coll
mount --bind "$root/opt/coll" /opt/coll

# clean COMMAND...: with an environment that knows of the prefix only
clean()
{
	(cd / && env -i PATH=/opt/coll/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/ \
		LD_LIBRARY_PATH=/opt/coll/lib PKG_CONFIG_PATH=/opt/coll/lib/pkgconfig \
		"$@") >"$log" 2>&1 </dev/null
}

plan 9
clean collrun -n 2 collperf allreduce -c 1
ok $? "collrun -n 2 collperf allreduce -c 1"
clean collctl list
ok $? "collctl list"
clean collctl tune -o "$tmp/tables" -t 1 -- -t 200 -n 2 --nodes 2 && [[ -s $tmp/tables ]]
ok $? "collctl finds collrun beside it"
# shellcheck disable=SC2016  # for the shell with the clean environment
clean sh -c 'gcc -Werror $(pkg-config --cflags libcoll) -o '"$tmp/sum $top"'/tools/examples/allreduce.c \
	$(pkg-config --libs libcoll)' && clean collrun -n 4 "$tmp/sum" &&
	[[ $(grep -c "of 4: the sum is 10" "$log") == 4 ]]
ok $? "a program built by pkg-config alone"
if command -v gfortran >/dev/null; then
	# shellcheck disable=SC2016
	clean sh -c 'gfortran $(pkg-config --cflags libcoll_fortran) -J '"$tmp -o $tmp/sums $top"'/selftests/net/fortran_examples.f90 \
		$(pkg-config --libs libcoll_fortran)' && clean collrun -n 2 "$tmp/sums" &&
		[[ $(grep -c "right$" "$log") == 2 ]]
	ok $? "a program of Fortran built by pkg-config alone"
else
	skip "a program of Fortran" "no gfortran"
fi
packages=(/opt/coll/lib/python3*/*-packages)
clean env PYTHONPATH="${packages[0]}" PYTHONDONTWRITEBYTECODE=1 \
	LD_LIBRARY_PATH= /usr/bin/python3 -c 'import coll; print(coll.__version__)'
ok $? "python3 -c 'import coll'"
! grep -rlI "$top" "$root" >"$log"
ok $? "no path of the tree in a text"
for f in /opt/coll/bin/* /opt/coll/lib/*.so; do
	! readelf -S "$f" | grep -q debug_info || echo "$f"
done >"$log" 2>&1
[[ ! -s $log ]]
ok $? "programs and library are stripped"
cp -a "$root" "$tmp/root"
: >"$tmp/root/opt/coll/bin/other"
make -s -C "$top" uninstall PREFIX=/opt/coll DESTDIR="$tmp/root" >"$log" 2>&1 &&
	find "$tmp/root" ! -type d >"$log" && [[ $(cat "$log") == "$tmp/root/opt/coll/bin/other" ]]
ok $? "uninstall removes what install has put there, and nothing else"
finish
