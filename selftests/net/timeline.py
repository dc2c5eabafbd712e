#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks a timeline of collctl: is it the format of trace viewers, and is all of it there?

--ranks N --nodes N [--steps N]: of the example mlp. With --steps each rank must have a tick for
each of its ten tensors in each step. --merged FILE...: it has the events of these files.
"""
import argparse
import collections
import json
import sys

TENSORS = {f"layer{k}.gradient{i}" for k, n in ((0, 4), (1, 4), (2, 1)) for i in range(n)}
TENSORS.add("loss")
OPS = 100000


def fail(text):
    print(text)
    sys.exit(1)


def load(path):
    """The events of a file, each as the format wants it."""
    with open(path, encoding="utf-8") as f:
        whole = json.load(f)
    for e in whole["traceEvents"]:
        for key, kind in (("name", str), ("ph", str), ("pid", int), ("tid", int)):
            if not isinstance(e.get(key), kind):
                fail(f"{path}: {key} of {e}")
        if not isinstance(e.get("ts"), (int, float)) or e["ts"] < 0:
            fail(f"{path}: ts of {e}")
        if e["ph"] not in ("X", "i", "b", "e", "M"):
            fail(f"{path}: ph of {e}")
        if e["ph"] == "X" and e["dur"] < 0:
            fail(f"{path}: dur of {e}")
        if e["ph"] in "be" and not e["id2"]["local"]:
            fail(f"{path}: id of {e}")
    return whole


def pairs(events):
    """Async slices: from the post of a tensor by a rank to its end."""
    begun, slices = {}, []
    for e in events:
        key = (e["pid"], e.get("id2", {}).get("local"))
        if e["ph"] == "b":
            if key in begun:
                fail(f"begun twice: {e}")
            begun[key] = e
        elif e["ph"] == "e":
            b = begun.pop(key)
            if e["ts"] < b["ts"] or e["name"] != b["name"] or e["tid"] != b["tid"]:
                fail(f"{b} ends by {e}")
            slices.append((b, e))
    if begun:
        fail(f"without an end: {list(begun.values())[:3]}")
    return slices


def names(events, what):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == what}


def check_tracks(events, ranks, nodes):
    tracks = names(events, "thread_name")
    used = {(e["pid"], e["tid"]) for e in events if e["ph"] != "M"}
    if used - set(tracks):
        fail(f"tracks without a name: {used - set(tracks)}")
    groups = {p for p, t in used if t < OPS and any(e["pid"] == p and e["name"] == "ready"
                                                   for e in events)}
    if len(groups) != nodes:
        fail(f"{len(groups)} nodes with tensors, not {nodes}")
    have = sorted(t for p, t in used if p in groups and t < OPS)
    if have != list(range(ranks)):
        fail(f"tracks of ranks: {have}")
    titles = sorted(n for (p, _), n in names(events, "process_name").items() if p in groups)
    if len(titles) != nodes or len({t.split()[-1] for t in titles}) != nodes:
        fail(f"nodes: {titles}")
    links = collections.defaultdict(set)
    for (p, t), name in tracks.items():
        if p in groups and t > OPS:
            links[p].add(name)
    for p in groups:
        sent = {n for n in links[p] if n.startswith("to node ")}
        got = {n for n in links[p] if n.startswith("from node ")}
        if nodes > 1 and (not sent or not got):
            fail(f"links of {p}: {links[p]}")
        if nodes == 1 and links[p]:
            fail(f"links of one node: {links[p]}")


def check_ticks(events, ranks, steps):
    ticks = collections.Counter((e["tid"], e["args"]["tensor"], e["args"]["round"])
                                for e in events if e["name"] == "ready")
    if max(ticks.values()) > 1:
        fail(f"twice: {ticks.most_common(3)}")
    found = {tensor for _, tensor, _ in ticks}
    if not found <= TENSORS:
        fail(f"tensors: {found - TENSORS}")
    if steps is None:
        return
    want = {(r, tensor, s) for r in range(ranks) for tensor in TENSORS for s in range(steps)}
    if set(ticks) != want:
        fail(f"{len(want - set(ticks))} ticks are missing, {len(set(ticks) - want)} are too many: "
             f"{sorted(want ^ set(ticks))[:5]}")
    print(f"{len(want)} ticks")


def check_slices(events, slices, ranks, steps):
    """Each ends behind the tick of every rank; what is not cut off has ended well."""
    ready = collections.defaultdict(list)
    for e in events:
        if e["name"] == "ready":
            ready[e["args"]["tensor"], e["args"]["round"]].append(e["ts"])
    for b, e in slices:
        times = ready[b["name"], b["args"]["round"]]
        if e["args"]["end"] == "ok" and len(times) == ranks and e["ts"] < max(times):
            fail(f"{b} ends before all ranks are ready: {e}")
    if steps is None:
        return
    if len(slices) != ranks * steps * len(TENSORS):
        fail(f"{len(slices)} slices")
    if any(e["args"]["end"] != "ok" for _, e in slices):
        fail("a tensor has not ended")
    # Of each node: all tensors are in ops.
    in_ops = collections.Counter()
    for e in events:
        if e["ph"] == "X" and e["tid"] == OPS:
            in_ops[e["pid"]] += e["args"]["tensors"]
    for pid in {b["pid"] for b, _ in slices}:
        if in_ops[pid] != steps * len(TENSORS):
            fail(f"{in_ops[pid]} tensors in the ops of {pid}")


def check_merged(whole, files):
    parts = [load(f)["traceEvents"] for f in files]
    got = collections.Counter((e["ts"], e["tid"], e["name"]) for e in whole["traceEvents"])
    want = collections.Counter((e["ts"], e["tid"], e["name"]) for p in parts for e in p)
    if got != want:
        fail("other events than those of the files")
    pids = [{e["pid"] for e in p} for p in parts]
    if len({e["pid"] for e in whole["traceEvents"]}) != sum(len(p) for p in pids):
        fail("groups of two files have become one")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--merged", nargs="+")
    args = parser.parse_args()
    whole = load(args.file)
    events = whole["traceEvents"]
    if not events:
        fail("empty")
    if args.merged:
        check_merged(whole, args.merged)
        return
    slices = pairs(events)
    if args.ranks is None:
        return
    if whole["otherData"]["lost"]:
        fail("events are lost")
    check_tracks(events, args.ranks, args.nodes)
    check_ticks(events, args.ranks, args.steps)
    check_slices(events, slices, args.ranks, args.steps)


main()
