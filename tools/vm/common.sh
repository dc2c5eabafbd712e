# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# Words shared by the parts of collvm: messages, cache, locks, progress.

COLLVM_KERNELS=(uml uml-debug debian-6.1 debian-6.12 debian-6.1-rt kcsan)
COLLVM_RECIPE=1			# raise when cached kernels must be made anew, see kernel_dir

cache=${COLL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/coll}
quiet=

say()
{
	printf 'collvm: %s\n' "$*" >&2
}

# die STATUS MESSAGE...
die()
{
	local status=$1

	shift
	say "$@"
	exit "$status"
}

check_kernel()
{
	local k

	for k in "${COLLVM_KERNELS[@]}"; do
		[[ $k == "$1" ]] && return 0
	done
	die 2 "no kernel '$1'; there are: ${COLLVM_KERNELS[*]}"
}

check_cache()
{
	# Boot parameters and kbuild both cut at white space.
	[[ $cache =~ [[:space:],:] ]] &&
		die 2 "the cache path '$cache' may hold no space, comma or colon: set COLL_CACHE"
	mkdir -p "$cache"/{lock,log,run} || die 2 "cannot write to $cache"
}

# with_lock NAME COMMAND...: one at a time on this machine
with_lock()
{
	local name=$1 fd status

	shift
	exec {fd}>"$cache/lock/$name"
	if ! flock -w 5 "$fd"; then
		say "waiting for another collvm ($name)"
		flock "$fd"
	fi
	(
		exec {fd}>&-
		"$@"
	)
	status=$?
	exec {fd}>&-
	return "$status"
}

progress_start=0
progress_last=-100

# progress TEXT: a line that is redrawn on a terminal, now and then elsewhere
progress()
{
	local took=$((SECONDS - progress_start))

	[[ $quiet ]] && return 0
	if [[ -t 2 ]]; then
		printf '\r\033[Kcollvm: %s (%d:%02d)' "$1" $((took / 60)) $((took % 60)) >&2
	elif [[ ${2-} == step ]] || ((SECONDS - progress_last >= 20)); then
		printf 'collvm: %s (%d:%02d)\n' "$1" $((took / 60)) $((took % 60)) >&2
		progress_last=$SECONDS
	fi
}

progress_end()
{
	[[ -t 2 && ! $quiet ]] && printf '\n' >&2
	return 0
}

# hash FILE...: what a cached kernel depends on, in eight letters
hash_of()
{
	{ echo "$COLLVM_RECIPE"; cat "$@"; } | sha256sum | cut -c1-8
}

# The directory that holds, or will hold, a kernel
kernel_dir()
{
	case $1 in
	uml)
		echo "$cache/uml-$(hash_of "$vmlib"/uml.{config,patch})" ;;
	uml-debug)
		echo "$cache/uml-debug-$(hash_of "$vmlib"/uml{,-debug}.config "$vmlib/uml.patch")" ;;
	debian-*)
		echo "$cache/$1-$(hash_of "$vmlib/initramfs-init" <(echo "$DEBIAN_RECIPE"))" ;;
	kcsan)
		echo "$cache/kcsan-$(hash_of "$vmlib/kcsan.config" "$vmlib/initramfs-init")" ;;
	esac
}

kernel_cached()
{
	[[ -f $(kernel_dir "$1")/version ]]
}

# fetch_kernel KERNEL: makes $(kernel_dir KERNEL), unless it is there
fetch_kernel()
{
	check_cache
	kernel_cached "$1" && return 0
	need_packages "$1" || return
	with_lock "fetch-$1" fetch_locked "$1"
}

fetch_locked()
{
	local kernel=$1 dir work

	kernel_cached "$kernel" && return 0
	dir=$(kernel_dir "$kernel")
	work=$(mktemp -d "$dir.tmp.XXXXXX") || return
	# shellcheck disable=SC2064  # the directory is the one of now
	trap "rm -rf '$work'" EXIT
	trap 'exit 130' INT TERM
	progress_start=$SECONDS
	case $kernel in
	uml*)		uml_make "$kernel" "$work" ;;
	debian-*)	debian_make "$kernel" "$work" ;;
	kcsan)		kcsan_make "$kernel" "$work" ;;
	esac || { progress_end; say "no kernel $kernel"; return 1; }
	chmod 755 "$work"
	rm -rf "$dir"
	mv "$work" "$dir" || return
	progress "$kernel: $(cat "$dir/version") is ready" step
	progress_end
}
