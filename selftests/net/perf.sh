#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Collectives over networks of namespaces, every element checked.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

max=$(largest 16M 64K)
mid=$(largest 1M 16K)
few=$(largest 5 2)
many=(-n "$few" -w 1)

plan 13
perf "allreduce, 8 ranks, 4 nodes" -n 8 --nodes 4 -- allreduce -b 4 -e "$max" -f 4 "${many[@]}"
perf "allreduce, 8 ranks, 4 nodes, ioctl" -n 8 --nodes 4 -- allreduce -b 4 -e "$max" -f 4 "${many[@]}" --ioctl
perf "allreduce, 5 ranks, 1 node" -n 5 --nodes 1 -- allreduce -b 4 -e "$max" -f 4 "${many[@]}"
perf "allreduce, 5 ranks, 1 node, ioctl" -n 5 --nodes 1 -- allreduce -b 4 -e "$max" -f 4 "${many[@]}" --ioctl
perf "allreduce, a node per rank" -n 7 --nodes 7 -- allreduce -b 4 -e "$mid" -f 8 "${many[@]}"
perf "allreduce, in place" -n 6 --nodes 3 -- allreduce -b 4 -e "$mid" -f 8 "${many[@]}" --inplace
perf "allreduce, registered buffers" -n 6 --nodes 3 -- allreduce -b 4 -e "$mid" -f 8 "${many[@]}" --registered
perf "allreduce, f64 max" -n 4 --nodes 2 -- allreduce -b 8 -e "$mid" -f 8 -d f64 -o max "${many[@]}"
perf "broadcast, root 3" -n 8 --nodes 4 -- broadcast -b 4 -e "$mid" -f 8 -r 3 "${many[@]}"
perf "broadcast, root 0, ioctl" -n 5 --nodes 5 -- broadcast -b 4 -e "$mid" -f 8 "${many[@]}" --ioctl
"$tools/collrun" -t 200 -n 8 --nodes 4 "$tools/collperf" barrier "${many[@]}" >"$log" 2>&1 </dev/null
ok $? "barrier, 8 ranks, 4 nodes"
perf "sendrecv, 2 ranks, 1 node" -n 2 --nodes 1 -- sendrecv -b 8 -e "$max" -f 8 "${many[@]}"
perf "sendrecv, 3 ranks, 3 nodes, ioctl" -n 3 --nodes 3 -- sendrecv -b 8 -e "$max" -f 8 "${many[@]}" --ioctl --registered
finish
