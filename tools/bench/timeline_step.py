#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One step of a timeline of collctl, as tables for timeline.gnuplot.

usage: timeline_step.py FILE STEP DIRECTORY

A lane is a tensor of a rank. DIRECTORY gets posted.txt, from the post by a rank to the tick of the
last rank: "lane begin end"; moved.txt, from there to the end; ticks.txt, when the rank's node
knew that the rank is ready: "lane time"; and lanes.gnuplot, the names of the lanes. Times are in
microseconds from the first post of the step.
"""
import collections
import json
import sys


def slices(events, step):
    """(rank, tensor): times of post and end, of tensors' round @step."""
    begun, found = {}, {}
    for e in events:
        key = (e["pid"], e.get("id2", {}).get("local"))
        if e["ph"] == "b" and e["args"].get("round") == step:
            begun[key] = e
        elif e["ph"] == "e" and key in begun:
            b = begun.pop(key)
            found[b["tid"], b["name"]] = (b["ts"], e["ts"])
    return found


def ready(events, step):
    """Ticks: tensor: rank: time."""
    ticks = collections.defaultdict(dict)
    for e in events:
        if e["name"] == "ready" and e["args"]["round"] == step:
            ticks[e["args"]["tensor"]][e["tid"]] = e["ts"]
    return ticks


def main():
    path, step, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    found, ticks = slices(events, step), ready(events, step)
    if not found:
        sys.exit(f"{path}: no step {step}")
    first = min(begin for begin, _ in found.values())
    ranks = sorted({rank for rank, _ in found})
    tensors = sorted({name for _, name in found}, reverse=True)
    lanes = {}
    for rank in reversed(ranks):
        for name in tensors:
            # a gap between ranks
            lanes[rank, name] = len(lanes) + (len(ranks) - 1 - rank)
    with open(f"{out}/posted.txt", "w", encoding="utf-8") as posted, \
            open(f"{out}/moved.txt", "w", encoding="utf-8") as moved, \
            open(f"{out}/ticks.txt", "w", encoding="utf-8") as marks:
        for (rank, name), (begin, end) in sorted(found.items()):
            lane, all_ready = lanes[rank, name], max(ticks[name].values())
            print(lane, begin - first, max(all_ready, begin) - first, file=posted)
            print(lane, max(all_ready, begin) - first, max(end, all_ready) - first, file=moved)
            if rank in ticks[name]:
                print(lane, ticks[name][rank] - first, file=marks)
    with open(f"{out}/lanes.gnuplot", "w", encoding="utf-8") as names:
        labels = ", ".join(f"'rank {rank}: {name}' {lane}" for (rank, name), lane in lanes.items())
        print(f"set ytics ({labels})", file=names)
        print(f"lanes = {max(lanes.values()) + 1}", file=names)


main()
