#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: torch_waits.py MODE: a rank of the backend "coll", whose waits depend on each other.

RANK, WORLD_SIZE and INIT say who and where. MODE: a function below. Prints "right" at the end.
"""
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import coll_torch  # noqa: F401

me, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def begin():
    """The default group. A deadline ends a rank that would wait for ever."""
    dist.init_process_group("coll", init_method=os.environ["INIT"], rank=me, world_size=n,
                            timeout=timedelta(seconds=60))


def elsewhere():
    """Works end on the other ranks while rank 0 waits outside of coll."""
    begin()
    gloo = dist.new_group(backend="gloo", timeout=timedelta(seconds=120))
    for _ in range(3):
        small, large = torch.ones(64), torch.ones(1 << 20)
        dist.barrier()
        if me:
            # rank 0 has begun both
            time.sleep(0.3)
        works = [dist.all_reduce(t, async_op=True) for t in (small, large)]
        if not me:
            dist.barrier(gloo)
        for work in works:
            work.wait()
        if me:
            dist.barrier(gloo)
        assert all(bool((t == n).all()) for t in (small, large))
    dist.destroy_process_group()


globals()[sys.argv[1]]()
print("right")
