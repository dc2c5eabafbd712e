#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: torch_waits.py MODE: a rank of the backend "coll", whose waits depend on each other.

RANK, WORLD_SIZE and INIT say who and where. MODE: a function below. Prints "right" at the end.
"""
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import coll_torch  # noqa: F401

me, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def begin():
    """The default group. A signal ends a rank that would wait for ever."""
    signal.alarm(200)
    dist.init_process_group("coll", init_method=os.environ["INIT"], rank=me, world_size=n,
                            timeout=timedelta(seconds=120))


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


def begun(count, late):
    """So many works with futures. Rank @late comes later: the others have to wait for it."""
    dist.barrier()
    if me == late:
        time.sleep(0.3)
    tensors = [torch.full((3,), float(i)) for i in range(count)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    return works, [work.get_future() for work in works]


def right(future, i):
    """Has that work its sum?"""
    return bool((future.value()[0] == i * n).all())


def callbacks():
    """Callbacks that wait for futures of later works, and threads that wait for these works."""
    begin()
    for late in range(n):
        # by the future
        works, futures = begun(2, late)
        last = futures[1]
        futures[0].then(lambda f, last=last: last.wait()).wait()
        assert right(futures[0], 0) and right(last, 1)
        # by the work
        works, futures = begun(2, late)
        waits = futures[0].then(lambda f, work=works[1]: work.wait())
        works[1].wait()
        waits.wait()
        assert right(futures[1], 1)
        # the main thread waits for the work, a callback for its future
        works, futures = begun(2, late)
        last = futures[1]
        waits = futures[0].then(lambda f, last=last: last.wait())
        works[1].wait()
        waits.wait()
        # each callback waits for the next one
        works, futures = begun(6, late)
        waits = futures[5]
        for future in reversed(futures[:5]):
            waits = future.then(lambda f, after=waits: after.wait())
        waits.wait()
        assert all(right(future, i) for i, future in enumerate(futures))
    dist.destroy_process_group()


globals()[sys.argv[1]]()
print("right")
