#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: torch_rank.py MODE [SEED]: one rank of a group of the backend "coll".

RANK, WORLD_SIZE and INIT say who and where. MODE: a function below. Prints "right" at the end.
"""
import os
import signal
import sys
import threading
import time
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import coll_torch

me, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
Op = dist.ReduceOp
TYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
         torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
         torch.bool)


def begin(timeout=120.0, backend="coll"):
    """The default group."""
    init = os.environ["INIT"]
    who = {} if init.startswith("env:") else {"rank": me, "world_size": n}
    dist.init_process_group(backend, init_method=init, timeout=timedelta(seconds=timeout), **who)


def same(got, want):
    """Are these tensors equal, in type, shape and every bit that a print shows?"""
    assert got.dtype == want.dtype and got.shape == want.shape, (got, want)
    assert torch.equal(got, want), (got, want)


def fails(kind, text, call, *args, **kwargs):
    """Does the call raise an exception of that kind with that text?"""
    try:
        call(*args, **kwargs)
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"no {kind.__name__}: {text}")


def data(case, rank, shape, dtype, most=3):
    """Whole numbers, which sums and products of all ranks can be exact with in every type."""
    draw = torch.Generator().manual_seed(1000 * (seed + case) + rank)
    low = 0 if dtype in (torch.uint8, torch.bool) else -most
    high = 1 if dtype == torch.bool else most
    return torch.randint(low, high + 1, shape, generator=draw).to(dtype)


def everybody(case, shape, dtype, most=3, ranks=None):
    """The same of all ranks."""
    return [data(case, r, shape, dtype, most) for r in (range(n) if ranks is None else ranks)]


BITWISE = {Op.BAND: torch.bitwise_and, Op.BOR: torch.bitwise_or, Op.BXOR: torch.bitwise_xor}
BOOLEAN = {Op.SUM: torch.any, Op.MAX: torch.any, Op.BOR: torch.any, Op.PRODUCT: torch.all,
           Op.MIN: torch.all, Op.BAND: torch.all}


def folded(tensors, op):
    """What a reduction of these gives."""
    stack = torch.stack(tensors)
    dtype = stack.dtype
    if dtype == torch.bool:
        return BOOLEAN[op](stack, 0) if op in BOOLEAN else stack.sum(0) % 2 == 1
    if op in BITWISE:
        result = tensors[0]
        for t in tensors[1:]:
            result = BITWISE[op](result, t)
        return result
    if dtype in (torch.float16, torch.bfloat16):
        stack = stack.double()
    result = {Op.SUM: lambda s: s.sum(0), Op.PRODUCT: lambda s: s.prod(0),
              Op.MIN: lambda s: s.amin(0), Op.MAX: lambda s: s.amax(0),
              Op.AVG: lambda s: s.sum(0) / len(tensors)}[op](stack)
    return result.to(dtype)


def operators(dtype):
    """What coll has for that type."""
    ops = [Op.SUM, Op.PRODUCT]
    if dtype.is_floating_point or dtype.is_complex:
        ops.append(Op.AVG)
    else:
        ops += [Op.BAND, Op.BOR, Op.BXOR]
    return ops if dtype.is_complex else ops + [Op.MIN, Op.MAX]


def reductions(group):
    """allreduce, reduce and both reduce_scatters: each operator on each type."""
    case = 0
    for dtype in TYPES:
        for op in operators(dtype):
            case += 1
            shape, root = (case % 5 + 1, 7), case % n
            mine, want = data(case, me, shape, dtype), folded(everybody(case, shape, dtype), op)
            t = mine.clone()
            group.allreduce([t], options(dist.AllreduceOptions, op)).wait()
            same(t, want)
            t = mine.clone()
            group.reduce([t], options(dist.ReduceOptions, op, root)).wait()
            same(t, want if me == root else mine)
            whole = everybody(case, (n, *shape), dtype)
            want = folded(whole, op)[me].clone()
            t = torch.empty(shape, dtype=dtype)
            group.reduce_scatter([t], [list(whole[me].unbind(0))],
                                 options(dist.ReduceScatterOptions, op)).wait()
            same(t, want)
            # pieces that do not lie one behind the other
            t = torch.empty(shape, dtype=dtype)
            apart = [b.clone() for b in whole[me].unbind(0)]
            group.reduce_scatter([t], [apart], options(dist.ReduceScatterOptions, op)).wait()
            same(t, want)
            t = torch.empty(shape, dtype=dtype)
            group._reduce_scatter_base(t, whole[me], options(dist.ReduceScatterOptions, op)).wait()
            same(t, want)
            # the output is a part of the input
            whole = whole[me].clone()
            group._reduce_scatter_base(whole[me], whole,
                                       options(dist.ReduceScatterOptions, op)).wait()
            same(whole[me], want)


def options(kind, op, root=None):
    """An options object of c10d."""
    opts = kind()
    opts.reduceOp = op
    if root is not None:
        opts.rootRank = root
    return opts


def moves():
    """What only moves data, by the functions of torch.distributed."""
    for case, dtype in enumerate(TYPES):
        root, shape = case % n, (case % 4 + 1, 3)
        mine, all_of_them = data(case, me, shape, dtype), everybody(case, shape, dtype)
        t = mine.clone()
        dist.broadcast(t, root)
        same(t, all_of_them[root])
        got = [torch.empty(shape, dtype=dtype) for _ in range(n)]
        dist.all_gather(got, mine)
        for r in range(n):
            same(got[r], all_of_them[r])
        # this rank's own block is where it will be
        got = [torch.empty(shape, dtype=dtype) for _ in range(n)]
        got[me].copy_(mine)
        dist.all_gather(got, got[me])
        same(torch.stack(got), torch.stack(all_of_them))
        # the input is where the block of rank 0 will be
        got[0].copy_(mine)
        dist.all_gather(got, got[0])
        same(torch.stack(got), torch.stack(all_of_them))
        flat = torch.empty((n, *shape), dtype=dtype)
        dist.all_gather_into_tensor(flat, mine)
        same(flat, torch.stack(all_of_them))
        flat[0].copy_(mine)
        dist.all_gather_into_tensor(flat, flat[0])
        same(flat, torch.stack(all_of_them))
        got = [torch.empty(shape, dtype=dtype) for _ in range(n)] if me == root else None
        dist.gather(mine, got, dst=root)
        if me == root:
            same(torch.stack(got), torch.stack(all_of_them))
        give = everybody(case + 100, (n, *shape), dtype)
        t = torch.empty(shape, dtype=dtype)
        dist.scatter(t, [b.clone() for b in give[root].unbind(0)] if me == root else None, src=root)
        same(t, give[root][me].clone())
        blocks = [b.clone() for b in give[root].unbind(0)] if me == root else None
        t = blocks[(me + 1) % n] if me == root else t
        dist.scatter(t, blocks, src=root)
        same(t, give[root][me].clone())
        t = torch.empty((n, *shape), dtype=dtype)
        dist.all_to_all_single(t, give[me])
        same(t, torch.stack([give[r][me] for r in range(n)]))
        t = give[me].clone()
        dist.all_to_all_single(t, t)
        same(t, torch.stack([give[r][me] for r in range(n)]))
        got = [b.clone() for b in give[me].unbind(0)]
        dist.all_to_all(got, list(got))
        same(torch.stack(got), torch.stack([give[r][me] for r in range(n)]))
        got = [torch.empty(shape, dtype=dtype) for _ in range(n)]
        dist.all_to_all(got, [b.clone() for b in give[me].unbind(0)])
        same(torch.stack(got), torch.stack([give[r][me] for r in range(n)]))
        # rank a gives b + 1 rows to rank b, of a + b + 1 the ones with a number of a's
        rows = [[(a + b) % 3 for b in range(n)] for a in range(n)]
        t = torch.empty((sum(rows[a][me] for a in range(n)), 2), dtype=dtype)
        mine = data(case, me, (sum(rows[me]), 2), dtype)
        dist.all_to_all_single(t, mine, [rows[a][me] for a in range(n)], rows[me])
        same(t, torch.cat([data(case, a, (sum(rows[a]), 2), dtype).split(rows[a])[me]
                           for a in range(n)]))
        dist.barrier()


def views(case, dtype):
    """Tensors of three by four that do not lie in rows: transposed, or every second column."""
    made = [lambda t: t.t().contiguous().t(), lambda t: t.repeat_interleave(2, 1)[:, ::2]]
    view = made[(case + case // len(TYPES)) % len(made)]
    return view, [view(t) for t in everybody(case, (3, 4), dtype)]


def strides():
    """Inputs and outputs of other strides than those of a new tensor."""
    for case, dtype in enumerate(TYPES * 2):
        root = case % n
        view, every = views(case, dtype)
        mine, stack = every[me], torch.stack(every)
        assert not mine.is_contiguous()
        blank = [view(torch.zeros(3, 4, dtype=dtype)) for _ in range(n)]
        t = view(data(case, me, (3, 4), dtype))
        op = Op.SUM if dtype.is_complex else Op.MAX
        dist.all_reduce(t, op)
        same(t, folded(every, op))
        t = view(data(case, me, (3, 4), dtype))
        dist.broadcast(t, root)
        same(t, every[root])
        dist.all_gather(blank, mine)
        same(torch.stack(blank), stack)
        # columns of one tensor
        wide = torch.zeros(3, 4 * n, dtype=dtype)
        dist.all_gather(list(wide.chunk(n, 1)), mine)
        same(wide, torch.cat(every, 1))
        wide = torch.cat([mine, mine], 1)
        dist.all_reduce_coalesced(list(wide.chunk(2, 1)), op)
        same(wide, torch.cat([folded(every, op)] * 2, 1))
        t = view(torch.zeros(3, 4, dtype=dtype))
        dist.scatter(t, every if me == root else None, src=root)
        same(t, mine)
        blank = [torch.zeros_like(t) for _ in range(n)]
        dist.gather(mine, blank if me == root else None, dst=root)
        if me == root:
            same(torch.stack(blank), stack)
        t = view(torch.zeros(3, 4, dtype=dtype))
        works = [dist.isend(mine, (me + 1) % n), dist.irecv(t, (me - 1) % n)]
        for work in works:
            work.wait()
        same(t, every[(me - 1) % n])
        t = torch.zeros(2 * n, n, dtype=dtype).t()
        give = [data(case, r, (n, 2 * n), dtype).t().contiguous().t() for r in range(n)]
        dist.all_to_all_single(t, give[me])
        same(t, torch.stack([give[r][me] for r in range(n)]))


def objects():
    """Objects go as tensors of bytes."""
    got = [None] * n
    dist.all_gather_object(got, {"rank": me, "text": "x" * (10 + 300 * me)})
    assert got == [{"rank": r, "text": "x" * (10 + 300 * r)} for r in range(n)]
    got = [me, "nothing"] if me else ["from rank 0", 7]
    dist.broadcast_object_list(got, 0)
    assert got == ["from rank 0", 7]


def many(group):
    """Many under way at once; a list in one call; tensors of no elements and of many."""
    works, tensors = [], []
    for i in range(50):
        tensors.append(torch.full((100 * i,), float(me + i)))
        works.append(dist.all_reduce(tensors[-1], async_op=True))
    for i in reversed(range(50)):
        works[i].wait()
        assert works[i].is_completed() and works[i].is_success()
        same(tensors[i], torch.full((100 * i,), float(sum(range(n)) + n * i)))
    mixed = [torch.full((3,), float(me)), torch.full((2, 2), me, dtype=torch.int64)]
    opts = dist.AllreduceCoalescedOptions()
    opts.reduceOp = Op.MAX
    group.allreduce_coalesced(mixed, opts).wait()
    same(mixed[0], torch.full((3,), float(n - 1)))
    same(mixed[1], torch.full((2, 2), n - 1, dtype=torch.int64))
    large = torch.full((1 << 20,), 1.0)
    work = dist.all_reduce(large, async_op=True)
    until = time.monotonic() + 60
    while not work.is_completed():
        assert time.monotonic() < until
        time.sleep(0.001)
    same(large, torch.full((1 << 20,), float(n)))
    # nobody waits for these: their memory stays until they are over
    for _ in range(20):
        dist.all_reduce(torch.ones(1 << 16), async_op=True)
    t = torch.ones(3)
    dist.all_reduce(t)
    same(t, torch.full((3,), float(n)))


def futures():
    """Futures complete by themselves, with the tensors; callbacks may use the group."""
    t = torch.full((5,), float(me))
    future = dist.all_reduce(t, async_op=True).get_future()
    same(future.wait()[0], torch.full((5,), float(sum(range(n)))))
    work = dist.all_reduce(t, async_op=True)
    future = work.get_future()
    until = time.monotonic() + 60
    while not future.done():
        assert time.monotonic() < until
        time.sleep(0.001)
    assert work.is_completed()
    work.wait()

    def again(before):
        # as the hook of PowerSGD: a future is waited for in the callback of another one
        return dist.all_reduce(before.value()[0], async_op=True).get_future().wait()[0] + 1

    t = torch.ones(4)
    future = dist.all_reduce(t, async_op=True).get_future().then(again)
    same(future.wait(), torch.full((4,), float(n * n + 1)))
    # one of a work that is over
    t = torch.ones(2)
    work = dist.all_reduce(t, async_op=True)
    work.wait()
    same(work.get_future().value()[0], torch.full((2,), float(n)))
    got = [torch.empty(1) for _ in range(n)]
    out = dist.all_gather(got, torch.tensor([float(me)]), async_op=True).get_future().wait()
    assert [float(x) for x in out] == [float(r) for r in range(n)], out
    del future, work


def python_goes_on():
    """A callback that asks for a future waits without the GIL, for a rank that is late."""
    def again(_):
        if me == 0:
            time.sleep(1.5)
        work = dist.all_reduce(torch.ones(2), async_op=True)
        return work.get_future().wait()[0]

    future = dist.all_reduce(torch.ones(1), async_op=True).get_future().then(again)
    last, gap = time.monotonic(), 0.0
    while not future.done():
        time.sleep(0.01)
        now = time.monotonic()
        gap, last = max(gap, now - last), now
    same(future.value(), torch.full((2,), float(n)))
    assert gap < 1, gap


def in_threads():
    """One thread sends, one receives, and both drop works whose tensors have memory of Python."""
    count, to, source = 400, (me + 1) % n, (me - 1) % n

    def memory(value):
        return torch.from_numpy(np.full(100, value))

    def sends():
        for i in range(count):
            dist.isend(memory(float(i)), to, tag=7)

    def receives():
        for _ in range(count):
            dist.irecv(memory(0.0), source, tag=7)

    both = [threading.Thread(target=f, daemon=True) for f in (sends, receives)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    dist.barrier()


def long_times():
    """A time that is longer than any program is no limit."""
    for days in 200000, timedelta.max.days:
        long = timedelta(days=days)
        group = dist.new_group(timeout=long)
        t = torch.ones(1 << 18)
        work = dist.all_reduce(t, group=group, async_op=True)
        work.wait(long)
        same(t, torch.full((1 << 18,), float(n)))
        dist.barrier(group)


def messages():
    """Tags keep messages apart; any source; many at once; both directions."""
    to, source = (me + 1) % n, (me - 1) % n
    works = [dist.isend(torch.full((4,), 10.0 * me + tag), to, tag=tag) for tag in range(3)]
    for tag in reversed(range(3)):
        t = torch.empty(4)
        dist.recv(t, source, tag=tag)
        same(t, torch.full((4,), 10.0 * source + tag))
    for work in works:
        work.wait()
    if me:
        # a tag of its own: rank n - 1 sends the next message before others have sent this one
        dist.send(torch.tensor([me], dtype=torch.int32), 0, tag=5)
    else:
        seen = set()
        for _ in range(n - 1):
            t = torch.zeros(1, dtype=torch.int32)
            rank = dist.recv(t, tag=5)
            assert int(t) == rank
            seen.add(rank)
        assert seen == set(range(1, n))
    give, got = torch.full((6,), me, dtype=torch.float64), torch.empty(6, dtype=torch.float64)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, give, to),
                                        dist.P2POp(dist.irecv, got, source)]):
        work.wait()
    same(got, torch.full((6,), source, dtype=torch.float64))


def subgroups():
    """Groups of some ranks only, and all in one group after the other."""
    for members in [list(range(n)), [0, n - 1], list(range(1, n)), [me for me in range(n) if me % 2]]:
        group = dist.new_group(members)
        if me not in members:
            continue
        t = torch.tensor([float(me)])
        dist.all_reduce(t, group=group)
        assert float(t) == sum(members)
        t = torch.tensor([me])
        dist.broadcast(t, members[-1], group=group)
        assert int(t) == members[-1]
    dist.barrier()


def refusals():
    """What coll cannot do is refused before anything is sent."""
    square = torch.ones(3, 3)
    fails(ValueError, "elements of an output share memory", dist.all_reduce,
          torch.ones(1).expand(3))
    fails(ValueError, "sparse", dist.all_reduce, square.to_sparse())
    fails(ValueError, "which coll has not", dist.broadcast,
          torch.quantize_per_tensor(square, 0.1, 0, torch.qint8), 0)
    fails(ValueError, "does not have this operator", dist.all_reduce, square, Op.BAND)
    fails(ValueError, "entries, one for each rank", dist.all_gather, [square.clone()] * (n + 1),
          square)
    fails(ValueError, "another size", dist.all_gather, [torch.ones(2) for _ in range(n)], square)
    fails(ValueError, "share memory", dist.all_gather, [square.clone()] * n, square)
    fails(ValueError, "share memory", dist.all_reduce_coalesced, [square, square[1:]])
    fails(ValueError, "cannot divide", dist.all_to_all_single, torch.ones(n + 1), torch.ones(n + 1))
    fails(ValueError, "splits", dist.all_to_all_single, torch.ones(n), torch.ones(n), [1] * n,
          [2] * n)
    fails(ValueError, "tags begin with 0", dist.send, square, (me + 1) % n, tag=-1)
    dist.barrier()


class Exact(torch.nn.Module):
    """Linear in its weights, which are small whole numbers at first: see ddp()."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 4)
        self.second = torch.nn.Linear(16, 4)
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.randint(-2, 3, p.shape))

    def forward(self, x):
        return self.first(x) + self.second(torch.relu(x))


class Network(torch.nn.Module):
    """Of the usual kind."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.Linear(4 * 36, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))

    def forward(self, x):
        return self.layers(x)


def trained(kind, group, steps, batch, loss_of, rate, **options_of_ddp):
    """Parameters after some steps."""
    torch.manual_seed(seed)
    model = DistributedDataParallel(kind(), process_group=group, **options_of_ddp)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    torch.manual_seed(seed + 1 + me)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def equal_models(a, b):
    """To the last digit that can be printed, and they have learned something."""
    assert len(a) == len(b)
    for p, q in zip(a, b):
        assert torch.isfinite(p).all()
        same(p, q)
        assert [repr(float(x)) for x in p.flatten()] == [repr(float(x)) for x in q.flatten()]


def ddp():
    """Parameters equal to those of gloo.

    A sum of two numbers does not depend on their order: on two ranks any model will do. On more
    ranks gloo folds each piece of a vector from another rank on, and coll in an order of its own,
    so that sums of more than two floats may differ in their last bit. There the sums of this
    model are exact, in whatever order: x and the weights are whole numbers, the factors powers of
    two. That it is so is looked at: the same in f64 gives the same numbers.
    """
    gloo = dist.new_group(backend="gloo")
    group = dist.group.WORLD

    def exact():
        return torch.randint(-1, 2, (4, 16)).float(), torch.randint(-1, 2, (4, 4)).float()

    def squares(got, want):
        return ((got - want) ** 2).sum() / 2

    def exact64():
        return tuple(t.double() for t in exact())

    args = (2, exact, squares, 2.0 ** -5)
    ours, theirs = trained(Exact, group, *args), trained(Exact, gloo, *args)
    wide = trained(lambda: Exact().double(), gloo, 2, exact64, squares, 2.0 ** -5)
    equal_models(ours, theirs)
    equal_models([p.double() for p in ours], wide)
    torch.manual_seed(seed)
    assert not all(torch.equal(p, q) for p, q in zip(ours, Exact().parameters()))

    def images():
        return torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))

    loss = torch.nn.functional.cross_entropy
    for more in {}, {"bucket_cap_mb": 0.001}, {"find_unused_parameters": True}, \
            {"gradient_as_bucket_view": True}:
        args = (5, images, loss, 0.1)
        ours, theirs = trained(Network, group, *args, **more), trained(Network, gloo, *args, **more)
        if n == 2:
            equal_models(ours, theirs)
        for p, q in zip(ours, theirs):
            assert torch.allclose(p, q, rtol=1e-4, atol=1e-5), (p, q)
        # and all ranks have the same
        for p in ours:
            all_of_them = [torch.empty_like(p) for _ in range(n)]
            dist.all_gather(all_of_them, p)
            for q in all_of_them:
                same(p, q)


def everything():
    """All of the above."""
    begin()
    group = dist.group.WORLD
    assert dist.get_backend() == "coll" and group.name() == "coll"
    reductions(group)
    moves()
    strides()
    objects()
    many(group)
    futures()
    python_goes_on()
    in_threads()
    long_times()
    messages()
    subgroups()
    refusals()
    dist.destroy_process_group()


def training():
    """DistributedDataParallel, beside gloo."""
    begin()
    ddp()
    dist.destroy_process_group()


class TwoHeads(torch.nn.Module):
    """A trunk, two heads, and a layer that nothing uses."""

    def __init__(self):
        super().__init__()
        self.trunk = torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.Tanh())
        self.heads = torch.nn.ModuleList(torch.nn.Linear(40, 5) for _ in range(2))
        self.unused = torch.nn.Linear(3, 3)

    def losses(self, x, y):
        middle = self.trunk(x)
        return [torch.nn.functional.cross_entropy(head(middle), y) for head in self.heads]


def by_hand(model):
    """The mean of all gradients, by collectives without names."""
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad, Op.AVG)


def by_name():
    """Gradients by name: models as those of a loop over the parameters."""
    def learned(named, passes=1, dtype=torch.float64, **options):
        torch.manual_seed(seed + 10 * me)
        model = TwoHeads().to(dtype)
        coll_torch.broadcast_parameters(model.state_dict(), root=n - 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        if named:
            coll_torch.DistributedOptimizer(optimizer, model.named_parameters(), passes=passes, **options)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        torch.manual_seed(seed + me)
        for step in range(8):
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            losses = model.losses(torch.randn(6, 12, dtype=dtype), torch.randint(0, 5, (6,)))
            # each rank reaches the heads in its own order
            order = losses if me % 2 == 0 else losses[::-1]
            if passes == 1:
                sum(order).backward()
            else:
                order[0].backward(retain_graph=True)
                order[1].backward()
            if not named:
                by_hand(model)
            elif step % 3 == 0:
                optimizer.gradients.wait()
                assert all(p.grad is not None for p in model.parameters())
            optimizer.step()
            schedule.step()
        return [p.detach().clone() for p in model.parameters()]

    begin()
    want = learned(False)
    for passes in 1, 2:
        for p, q in zip(learned(True, passes), want):
            assert torch.allclose(p, q, rtol=1e-9, atol=1e-12), (p, q)
    # half precision on the way is near, and alike on all ranks
    want = learned(False, dtype=torch.float32)
    narrow = learned(True, dtype=torch.float32, wire=torch.bfloat16)
    for p, q in zip(narrow, want):
        assert torch.allclose(p, q, rtol=0.1, atol=0.02), (p, q)
        everyone = [torch.empty_like(p) for _ in range(n)]
        dist.all_gather(everyone, p)
        for other in everyone:
            same(other, p)
    by_name_errors()
    dist.destroy_process_group()


def by_name_errors():
    """What is refused, and tensors on which the ranks disagree."""
    p = torch.nn.Parameter(torch.zeros(2 + (me == n - 1)))
    fails(ValueError, "two parameters", coll_torch.Gradients, [("a", p), ("a", p)])
    fails(ValueError, "passes is 0", coll_torch.Gradients, [("a", p)], passes=0)
    gradients = coll_torch.Gradients([("weight", p)])
    (p * 2).sum().backward()
    if n > 1:
        fails(RuntimeError, "'weight'", gradients.wait)
    gradients.remove()
    # the other gradient is reduced all the same, whichever a rank has first
    q = torch.nn.Parameter(torch.ones(3, 4).t())
    gradients = coll_torch.Gradients([("weight", p), ("bias", q)], op=Op.SUM)
    for loss in [(p * 2).sum(), (q * (me + 1)).sum()][::-1 if me % 2 else 1]:
        loss.backward()
    if n > 1:
        fails(RuntimeError, "'weight'", gradients.wait)
        same(q.grad, torch.full((4, 3), n * (n + 1) / 2))
    gradients.remove()
    q = torch.nn.Parameter(torch.ones(3, 4).t())
    gradients = coll_torch.Gradients([("bias", q)], op=Op.SUM)
    (q * (me + 1)).sum().backward()
    gradients.wait()
    same(q.grad, torch.full((4, 3), n * (n + 1) / 2))
    (q * 1).sum().backward()
    fails(RuntimeError, "more than 1 times", (q * 1).sum().backward)
    gradients.wait()
    gloo = dist.new_group(backend="gloo")
    fails(ValueError, "the group is one of gloo", coll_torch.Gradients, [("a", q)], gloo)


def restored(kind, **options):
    """One rank has trained alone. Then all go on from its model and the state of its optimizer."""
    root = n - 1
    torch.manual_seed(seed + 10 * me)
    model = torch.nn.Linear(4, 3, dtype=torch.float64)
    optimizer = kind(model.parameters(), lr=0.1 if me == root else 0.7, **options)

    def evaluate():
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4, dtype=torch.float64)).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(3 if me == root else 0):
        optimizer.step(evaluate)
    coll_torch.broadcast_parameters(model.state_dict(), root)
    coll_torch.broadcast_optimizer_state(optimizer, root)
    assert optimizer.param_groups[0]["lr"] == 0.1
    for _ in range(2):
        optimizer.step(evaluate)
    for p in model.parameters():
        everyone = [torch.empty_like(p) for _ in range(n)]
        dist.all_gather(everyone, p.detach())
        for other in everyone:
            same(other, p.detach())
    return optimizer


def states():
    """States of optimizers: none, tensors, numbers, lists of tensors."""
    begin()
    restored(torch.optim.SGD)
    restored(torch.optim.SGD, momentum=0.9)
    restored(torch.optim.Adam, amsgrad=True)
    # the root's float32 becomes float64 on all ranks
    restored(torch.optim.NAdam)
    optimizer = restored(torch.optim.LBFGS, max_iter=3)
    # what cannot be sent is an error on all ranks, and the group goes on
    p = next(iter(optimizer.state))
    if me == 0:
        optimizer.state[p]["odd"] = lambda: None
    fails(RuntimeError, "pickle" if me == 0 else "another rank", coll_torch.broadcast_optimizer_state,
          optimizer)
    optimizer.state[p]["odd"] = torch.ones(2).to_sparse()
    fails(RuntimeError, "sparse_coo" if me == 0 else "another rank",
          coll_torch.broadcast_optimizer_state, optimizer)
    optimizer.state[p]["odd"] = torch.empty(0)
    coll_torch.broadcast_optimizer_state(optimizer)
    # one rank has another number of parameters
    few = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1)) for _ in range(1 + (me == n - 1))], lr=1.0)
    fails(RuntimeError, "parameter group" if me == n - 1 else "another rank",
          coll_torch.broadcast_optimizer_state, few)
    if n > 2:
        # rank 1 of the group is not rank 1 of all
        group = dist.new_group([0, 2], backend="coll")
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=float(1 + me))
        if me in (0, 2):
            coll_torch.broadcast_optimizer_state(optimizer, 1, group)
        assert optimizer.param_groups[0]["lr"] == (2.0 if me == 1 else 3.0)
    dist.destroy_process_group()


def uneven():
    """Rank r has r + 1 batches. A rank without one joins, and then all go on from the last one."""
    begin()
    for present in False, True:
        p = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
        optimizer = torch.optim.SGD([p], lr=1.0)
        coll_torch.DistributedOptimizer(optimizer, [("weight", p)], present=present)
        want = 0.0
        for batch in range(me + 1):
            optimizer.zero_grad()
            (p * (me + 1)).sum().backward()
            if batch % 2:
                optimizer.gradients.wait()
            optimizer.step()
            # ranks from @batch on have one
            want -= sum(range(batch + 1, n + 1)) / (n - batch if present else n)
            assert torch.allclose(p.detach(), torch.full((3,), want, dtype=p.dtype)), (batch, p)
        last = optimizer.gradients.join()
        assert last == n - 1, last
        coll_torch.broadcast_parameters([("weight", p)], last)
        want = -sum(sum(range(b + 1, n + 1)) / (n - b if present else n) for b in range(n))
        assert torch.allclose(p.detach(), torch.full((3,), want, dtype=p.dtype)), p
        # all are back
        optimizer.zero_grad()
        (p * (me + 1)).sum().backward()
        fails(RuntimeError, "before wait()", optimizer.gradients.join)
        optimizer.step()
        want -= (n + 1) / 2
        assert torch.allclose(p.detach(), torch.full((3,), want, dtype=p.dtype)), p
        optimizer.gradients.remove()
    fails(ValueError, "present is for AVG", coll_torch.Gradients, [("a", p)], op=Op.SUM, present=True)
    gradients = coll_torch.Gradients([("a", p)], passes=2)
    (p * 1).sum().backward()
    fails(RuntimeError, "before wait()", gradients.join)
    gradients.wait()
    assert gradients.join() < n
    dist.destroy_process_group()


def closure():
    """step() with a closure reduces once, whether the closure waits for the gradients or not."""
    begin()
    for waits in False, True:
        p = torch.nn.Parameter(torch.zeros(3))
        optimizer = torch.optim.SGD([p], lr=1.0)
        coll_torch.DistributedOptimizer(optimizer, [("weight", p)], op=Op.SUM)

        def evaluate():
            optimizer.zero_grad()
            loss = (p * (me + 1)).sum()
            loss.backward()
            if waits:
                optimizer.gradients.wait()
            return loss

        for step in 1, 2:
            optimizer.step(evaluate)
            same(p.detach(), torch.full((3,), -step * n * (n + 1) / 2))
        optimizer.gradients.remove()
    dist.destroy_process_group()


def left_out():
    """All ranks leave step() out after wait(); then backward() reaches nothing on one rank."""
    begin(timeout=20.0)
    everyone = n * (n + 1) // 2
    for empty in range(n):
        p, other = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
        optimizer = torch.optim.SGD([p], lr=1.0)
        coll_torch.DistributedOptimizer(optimizer, [("weight", p)], op=Op.SUM)
        want = 0

        def backward(reached):
            # as module.zero_grad(), which the optimizer knows nothing of
            p.grad = None
            ((p if reached else other) * (me + 1)).sum().backward()

        for waits in False, True:
            backward(True)
            optimizer.gradients.wait()
            same(p.grad, torch.full((3,), float(everyone)))
            # step() is left out
            backward(me != empty)
            if waits:
                optimizer.gradients.wait()
            optimizer.step()
            want -= everyone - (empty + 1)
            same(p.detach(), torch.full((3,), float(want)))
            # as usual
            backward(True)
            optimizer.gradients.wait()
            optimizer.step()
            want -= everyone
            same(p.detach(), torch.full((3,), float(want)))
        optimizer.gradients.remove()
    dist.destroy_process_group()


def forked():
    """A child gives up its copy of the group, and the group of the parent goes on."""
    begin()
    t = torch.ones(10)
    dist.all_reduce(t, async_op=True).get_future().wait()
    child = os.fork()
    if not child:
        dist.destroy_process_group()
        os._exit(0)
    pid, until = 0, time.monotonic() + 20
    while not pid and time.monotonic() < until:
        time.sleep(0.05)
        pid, status = os.waitpid(child, os.WNOHANG)
    if not pid:
        os.kill(child, signal.SIGKILL)
    assert pid and not status, (pid, status)
    dist.all_reduce(t)
    same(t, torch.full((10,), float(n * n)))


def total():
    """The sum of ranks."""
    begin()
    t = torch.tensor([me + 1])
    dist.all_reduce(t)
    assert int(t) == n * (n + 1) // 2
    print("the sum is", int(t))


def death():
    """The last rank dies while the others wait: for a work, for a future, and later."""
    begin()
    dist.barrier()
    if me == n - 1:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    t = torch.ones(1000)
    works = [dist.all_reduce(t, async_op=True) for _ in range(3)]
    future = works[0].get_future()
    fails(RuntimeError, f"rank {n - 1}", future.wait)
    fails(RuntimeError, f"rank {n - 1}", works[1].wait)
    fails(RuntimeError, f"rank {n - 1}", dist.barrier)
    assert works[0].is_completed() and not works[0].is_success()
    took = time.monotonic() - start
    assert took < 10, took


def late():
    """Rank 0 does not come: the deadline of the group ends the others."""
    begin()
    group = dist.new_group(timeout=timedelta(seconds=4))
    t = torch.ones(10)
    dist.all_reduce(t, group=group)
    if not me:
        time.sleep(10)
        fails(RuntimeError, "coll: barrier", dist.barrier, group)
        return
    start = time.monotonic()
    work = dist.all_reduce(t, async_op=True, group=group)
    fails(RuntimeError, "not over within", work.wait, timedelta(seconds=0.2))
    assert time.monotonic() - start < 3
    fails(RuntimeError, "a deadline passed", work.wait)
    took = time.monotonic() - start
    assert 3.5 < took < 9, took


def missing():
    """One rank has no device: all of them say which one."""
    if me == n - 1:
        os.environ["COLL_DEVICE"] = "/dev/nothing"
    try:
        begin(timeout=30.0)
    except RuntimeError as error:
        assert f"rank {n - 1}: " in str(error) or me == n - 1, error
        assert "/dev/nothing: No such file" in str(error), error
        return
    raise AssertionError("a group without a device")


def wrong():
    """One rank has a variable that is no number: all of them say so."""
    if me == n - 1:
        os.environ["COLL_TIMEOUT_MS"] = "60s"
    try:
        begin(timeout=30.0)
    except RuntimeError as error:
        assert 'COLL_TIMEOUT_MS is "60s"' in str(error), error
        return
    raise AssertionError("a group without a number")


globals()[sys.argv[1]]()
print("right")
