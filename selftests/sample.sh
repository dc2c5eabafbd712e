#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: sample.sh SEED KERNEL PERCENT CORE... -- PROGRAM...
#
# Which programs of a suite run: those of the core, and of the others PERCENT, chosen by
# SEED and KERNEL. The same arguments give the same programs, in the order given. Kernels
# get different ones, so that few programs run on no kernel at all.

set -u
seed=$1
kernel=$2
percent=$3
shift 3
declare -A chosen
while [[ $1 != -- ]]; do
	chosen[$1]=1
	shift
done
shift

others()
{
	local p

	for p in "$@"; do
		[[ ${chosen[$p]-} ]] ||
			echo "$(cksum <<<"$seed $kernel $p" | cut -d ' ' -f 1) $p"
	done
}

nr=$(others "$@" | wc -l)
while read -r _ p; do
	chosen[$p]=1
done < <(others "$@" | sort -n | head -n $(((nr * percent + 99) / 100)))
for p in "$@"; do
	[[ ! ${chosen[$p]-} ]] || echo "$p"
done
