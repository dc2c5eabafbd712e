# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# Builds the module of the tree that collvm stands in, per kernel, under .build.

build_args=()			# of make, beside W=1

# kernel_path KERNEL WHAT
kernel_path()
{
	local dir

	dir=$(kernel_dir "$1")
	case $1:$2 in
	uml*:kdir|uml*:src|kcsan:kdir|kcsan:src)
				echo "$dir/kdir" ;;
	uml*:image)		echo "$dir/linux" ;;
	uml*:selftests)		echo "$dir/kdir/tools/testing/selftests" ;;
	debian-*:kdir)		echo "$dir/root/usr/src/linux-headers-$(cat "$dir/version")" ;;
	debian-*:src)		echo "$dir/root/usr/src/linux-headers-$(debian_common "$(cat "$dir/version")")" ;;
	debian-*:image|kcsan:image)
				echo "$dir/vmlinuz" ;;
	debian-*:selftests|kcsan:selftests)	die 2 "the selftests come with the source: collvm path uml selftests" ;;
	*)			die 2 "no path '$2'; there are: kdir src image selftests" ;;
	esac
}

build_dir()
{
	echo "$tree/.build/$1"
}

# build_module KERNEL [COPY]: prints where coll.ko is; a COPY of it, made before
# another build can start, is for running
build_module()
{
	local out

	[[ -f $tree/Kbuild ]] || die 1 "there is no Kbuild in $tree"
	out=$(build_dir "$1")
	mkdir -p "$out/src" || return
	with_lock "build-$(echo "$out" | sha256sum | cut -c1-16)" build_locked "$1" "$out" "${2-}" || return
	echo "$out/src/coll.ko"
}

# Copies what changed, times kept, so that make rebuilds only that.
build_copy()
{
	local parts=() p

	for p in Kbuild kmod uapi; do
		[[ -e $tree/$p ]] && parts+=("$tree/$p")
	done
	# P: objects live beside the sources and outlive them until the next clean
	rsync -a --delete-after --filter='P *.o' --filter='P *.ko' --filter='P *.cmd' \
		--filter='P *.mod' --filter='P *.mod.c' --filter='P Module.symvers' \
		--filter='P modules.order' "${parts[@]}" "$1/src/"
}

build_locked()
{
	local kernel=$1 out=$2 kdir log=$2/log args=("${build_args[@]}")

	kdir=$(kernel_path "$kernel" kdir)
	[[ $kernel == uml* ]] && args+=(ARCH=um)
	# The kernel may set variables to 0 that the module forgets to set: here they get garbage.
	[[ $kernel == uml-debug ]] && args+=(KCFLAGS=-ftrivial-auto-var-init=pattern)
	# Another kernel under the same name: nothing of the old build holds.
	if [[ $(cat "$out/kdir" 2>/dev/null) != "$kdir" ]]; then
		rm -rf "$out/src"
		mkdir -p "$out/src"
		echo "$kdir" >"$out/kdir"
	fi
	build_copy "$out" || return
	if ! nice make -s -C "$kdir" M="$out/src" "${args[@]}" W=1 -j"$(nproc)" modules \
			>"$log" 2>&1 || [[ ! -f $out/src/coll.ko ]]; then
		cat "$log" >&2
		say "coll.ko could not be built for $kernel"
		return 1
	fi
	# warnings of a good build are worth a look too
	grep -v -e '^Skipping BTF' -e '^warning: the compiler differs' \
		-e '^warning: pahole version differs' -e 'The kernel was built \(by\|with\):' \
		-e 'You are using:' "$log" >&2
	[[ ! $3 ]] || cp "$out/src/coll.ko" "$3"
}
