# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154  # of who sources it: top, out
# Facts about this machine, as lines "name value" of $facts, or of $out/facts.tsv. Benchmarks
# that share a directory need files of their own: make bench, if resumed, needs what it has written.

fact()
{
	printf '%s\t%s\n' "$1" "${*:2}" >>"${facts:-$out/facts.tsv}"
}

lscpu_field()
{
	LC_ALL=C lscpu | sed -n "s/^$1: *//p" | head -n 1
}

# A virtual machine need not say what it is, nor show its caches.
below()
{
	local vendor

	vendor=$(lscpu_field 'Hypervisor vendor')
	if [[ ! $vendor ]] && grep -qw hypervisor /proc/cpuinfo; then
		vendor="of a kind lscpu does not know"
	fi
	echo "$vendor"
}

cache()
{
	local size

	size=$(lscpu_field "$1 cache")
	echo "${size:-not shown}"
}

version()
{
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null
}

facts_of_machine()
{
	fact date "$(date -u '+%Y-%m-%d %H:%M UTC')"
	fact cpu "$(lscpu_field 'Model name'), family $(lscpu_field 'CPU family') model $(lscpu_field Model)"
	fact cores "$(nproc)"
	fact l2 "$(cache L2)"
	fact l3 "$(cache L3)"
	fact hypervisor "$(below)"
	fact memory "$(awk '/MemTotal/ { printf "%.1f", $2 / 1048576 }' /proc/meminfo) GiB"
	fact host_kernel "$(uname -sr)"
	# shellcheck disable=SC1091  # not part of the tree
	fact host_os "$(. /etc/os-release && echo "$PRETTY_NAME")"
	fact compiler "$(${CC:-cc} --version | head -n 1)"
	fact commit "$(git -C "$top" log -1 --format=%h 2>/dev/null)$(git -C "$top" diff --quiet HEAD -- kmod libcoll_user tools 2>/dev/null || echo ' with changes')"
}
