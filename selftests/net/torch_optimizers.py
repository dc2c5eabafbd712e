#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: torch_optimizers.py MODE: a rank of the backend "coll": which gradients are reduced.

RANK, WORLD_SIZE and INIT say who and where. MODE: a function below. Prints "right" at the end.
"""
import os
import signal
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

import coll_torch

me, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
Op = dist.ReduceOp
# what the sum of me + 1 is
TOTAL = n * (n + 1) / 2


def begin():
    """The default group. A signal ends a rank that would wait for ever."""
    signal.alarm(200)
    dist.init_process_group("coll", init_method=os.environ["INIT"], rank=me, world_size=n,
                            timeout=timedelta(seconds=60))


def refused(text, call, *args, **kwargs):
    """Does the call raise ValueError with that text?"""
    try:
        call(*args, **kwargs)
    except ValueError as error:
        assert text in str(error), error
        return
    raise AssertionError(f"no ValueError: {text}")


def parameter(shape=(3,)):
    """One that begins with zeros."""
    return torch.nn.Parameter(torch.zeros(shape))


def stepped(optimizer, *parameters):
    """A gradient of me + 1 for each, and a step: what each is reduced by."""
    optimizer.zero_grad()
    before = [p.detach().clone() for p in parameters]
    sum((p * (me + 1)).sum() for p in parameters).backward()
    optimizer.step()
    return [(b - p.detach()) for b, p in zip(before, parameters)]


def all_are(tensors, value):
    """Every element of each."""
    for t in tensors:
        assert torch.allclose(t, torch.full(t.shape, value, dtype=t.dtype)), (t, value)


def distributed(optimizer, named=None, **options):
    """With the sum as operator."""
    return coll_torch.DistributedOptimizer(optimizer, named, op=Op.SUM, **options)


def sgd(*parameters):
    """Whose steps are the gradients."""
    return torch.optim.SGD(parameters, lr=1.0)


def names():
    """The parameters of the optimizer, each once, with a name or without one."""
    a, b, c = parameter(), parameter(), parameter()
    optimizer = distributed(sgd(a, b))
    all_are(stepped(optimizer, a, b), TOTAL)
    optimizer.gradients.remove()
    refused("parameters of the optimizer without a name: 1", distributed, sgd(a, b), [("a", a)])
    # tied weights
    optimizer = distributed(sgd(a, b), [("a", a), ("b", b), ("also a", a)])
    all_are(stepped(optimizer, a, b), TOTAL)
    optimizer.gradients.remove()
    # what belongs to another optimizer
    named = [("a", a), ("b", b), ("c", c)]
    first, second = distributed(sgd(a), named), distributed(sgd(b, c), named)
    all_are(stepped(first, a), TOTAL)
    all_are(stepped(second, b, c), TOTAL)


def removals():
    """step() does not reduce after remove(). Then the optimizer may be distributed again."""
    p = parameter()
    optimizer = distributed(sgd(p), [("p", p)])
    refused("distributed already", distributed, optimizer, [("p", p)])
    optimizer.gradients.remove()
    # only this rank goes on: it must not wait for the others
    if me == 0:
        all_are(stepped(optimizer, p), 1.0)
        optimizer.zero_grad()
        optimizer.step(lambda: (p * 5).sum().backward())
        all_are([p.grad], 5.0)
    coll_torch.broadcast_parameters([("p", p)])
    distributed(optimizer, [("p", p)])
    all_are(stepped(optimizer, p), TOTAL)


def more():
    """Parameters that are added later, or were frozen at first."""
    a, b, c = parameter(), parameter(), parameter()
    b.requires_grad = False
    optimizer = distributed(sgd(a, b), [("a", a), ("b", b), ("c", c)])
    all_are(stepped(optimizer, a), TOTAL)
    b.requires_grad = True
    refused("is not reduced", stepped, optimizer, a, b)
    optimizer.gradients.wait()
    optimizer.gradients.add([("b", b)])
    all_are(stepped(optimizer, a, b), TOTAL)
    optimizer.add_param_group({"params": [c], "lr": 2.0})
    all_are(stepped(optimizer, a, b), TOTAL)
    all_are(stepped(optimizer, c), 2 * TOTAL)
    d = parameter()
    refused("without a name: 1", optimizer.add_param_group, {"params": [d]})
    optimizer.gradients.remove()
    # by number
    optimizer = distributed(sgd(a))
    optimizer.add_param_group({"params": [b, c]})
    all_are(stepped(optimizer, a, b, c), TOTAL)
    optimizer.gradients.remove()


def kinds():
    """Sparse gradients, conjugate ones, and averages that divide before the sum."""
    table = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = coll_torch.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=1.0),
                                                table.named_parameters(), sparse_as_dense=True)
    table(torch.tensor([me % 4, 3])).sum().backward()
    optimizer.gradients.wait()
    want = torch.zeros(4, 2)
    for r in range(n):
        want[r % 4] += 1 / n
        want[3] += 1 / n
    assert torch.allclose(table.weight.grad, want), (table.weight.grad, want)
    optimizer.gradients.remove()
    table.weight.grad = None
    gradients = coll_torch.Gradients(table.named_parameters())
    refused("is sparse", table(torch.tensor([0])).sum().backward)
    gradients.remove()
    p = torch.nn.Parameter(torch.zeros(3, dtype=torch.complex64))
    gradients = coll_torch.Gradients([("p", p)], op=Op.SUM)
    p.grad = torch.full((3,), (me + 1) * (1 + 2j)).conj()
    assert p.grad.is_conj()
    gradients.wait()
    all_are([p.grad], TOTAL * (1 - 2j))
    gradients.remove()
    p = torch.nn.Parameter(torch.zeros(3, dtype=torch.float16))
    gradients = coll_torch.Gradients([("p", p)], predivide=float(n))
    # the sum of these is no float16, if they are not divided before
    (p * 40000.0).sum().backward()
    gradients.wait()
    assert torch.allclose(p.grad.float(), torch.full((3,), 40000.0), rtol=0.01), p.grad
    gradients.remove()
    refused("predivide is for AVG", coll_torch.Gradients, [("p", p)], op=Op.SUM, predivide=2.0)
    refused("has to be more than 0", coll_torch.Gradients, [("p", p)], predivide=0.0)


def everything():
    """All of the above."""
    begin()
    names()
    removals()
    more()
    kinds()
    dist.destroy_process_group()


globals()[sys.argv[1]]()
print("right")
