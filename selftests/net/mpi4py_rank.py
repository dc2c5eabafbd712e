#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""One rank: every collective of mpi4py, of buffers and of objects, with known results."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
me, n = comm.Get_rank(), comm.Get_size()
ranks = np.arange(n)


def same(got, want):
    """Are these equal? An array, or any object."""
    if isinstance(want, np.ndarray):
        assert np.array_equal(got, want), (got, want)
    else:
        assert got == want, (got, want)


def buffers(comm, dtype):
    """Collectives of buffers, blocking and not."""
    for form in "", "I":
        def call(name, *args, form=form, **kwargs):
            done = getattr(comm, form + (name.lower() if form else name))(*args, **kwargs)
            if form:
                done.Wait()
        mine = np.full(3, me + 1, dtype)
        one, all3 = np.zeros(3, dtype), np.zeros((n, 3), dtype)
        everyone = np.repeat(ranks + 1, 3).reshape(n, 3).astype(dtype)
        call("Barrier")
        call("Allreduce", mine, one)
        same(one, np.full(3, n * (n + 1) // 2, dtype))
        call("Allreduce", MPI.IN_PLACE, mine, op=MPI.MAX)
        same(mine, np.full(3, n, dtype))
        mine[:] = me + 1
        one[:] = 0
        call("Reduce", mine, one if me == n - 1 else None, root=n - 1)
        same(one[0], n * (n + 1) // 2 if me == n - 1 else 0)
        call("Scan", mine, one)
        same(one, np.full(3, (me + 1) * (me + 2) // 2, dtype))
        one[:] = 0
        call("Exscan", mine, one)
        same(one, np.full(3, me * (me + 1) // 2, dtype))
        call("Bcast", mine, root=n - 1)
        same(mine, np.full(3, n, dtype))
        mine[:] = me + 1
        call("Allgather", mine, all3)
        same(all3, everyone)
        all3[:] = 0
        call("Gather", mine, all3 if not me else None)
        same(all3, everyone if not me else np.zeros((n, 3), dtype))
        call("Scatter", everyone if not me else None, one)
        same(one, mine)
        call("Alltoall", np.repeat(mine[:1], 3 * n), all3)
        same(all3, everyone)
        call("Reduce_scatter_block", everyone, one)
        same(one, mine * n)
        counts = ranks + 1
        ends = np.cumsum(counts)
        there = np.zeros(ends[-1], dtype)
        by_rank = np.repeat(ranks + 1, counts).astype(dtype)
        call("Allgatherv", np.full(me + 1, me + 1, dtype), (there, (counts, ends - counts)))
        same(there, by_rank)
        there[:] = 0
        call("Gatherv", np.full(me + 1, me + 1, dtype), (there, (counts, ends - counts)))
        same(there, by_rank if not me else there)
        part = np.zeros(me + 1, dtype)
        call("Scatterv", (by_rank, (counts, ends - counts)), part)
        same(part, np.full(me + 1, me + 1, dtype))
        part[:] = 0
        call("Reduce_scatter", by_rank, part, counts)
        same(part, np.full(me + 1, (me + 1) * n, dtype))
        there[:] = 0
        call("Alltoallv", (np.full((me + 1) * n, me + 1, dtype), [me + 1] * n),
             (there, (counts, ends - counts)))
        same(there, by_rank)


def objects(comm):
    """Collectives of Python objects: several calls of MPI each."""
    comm.barrier()
    same(comm.bcast({"rank": me}, root=n - 1), {"rank": n - 1})
    same(comm.allgather("x" * me), ["x" * r for r in ranks])
    same(comm.gather([me] * me), [[r] * r for r in ranks] if not me else None)
    same(comm.scatter([str(r) * r for r in ranks] if not me else None), str(me) * me)
    same(comm.alltoall([(me, int(r)) for r in ranks]), [(int(r), me) for r in ranks])
    same(comm.allreduce(me), n * (n - 1) // 2)
    same(comm.reduce([me], op=MPI.SUM), list(ranks) if not me else None)
    same(comm.scan(1), me + 1)
    same(comm.exscan(1), me or None)


for dtype in "int8", "int32", "int64", "float32", "float64", "complex128":
    if not dtype.startswith("complex"):
        buffers(comm, dtype)
objects(comm)
for part in comm.Dup(), comm.Split(0, me), comm.Create_group(comm.Get_group()):
    buffers(part, "float64")
    objects(part)
    part.Free()
half = comm.Split(me % 2, me)
same(half.allreduce(1), len(ranks[me % 2::2]))
half.Free()
comm.Barrier()
if not me:
    print("right")
    sys.stdout.flush()
