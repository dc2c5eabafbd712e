#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: collrun -n 2 python_doc.py; python_doc.py hints

The examples in the texts of the Python package, each on 2 ranks at the same time. Or: has each
public function hints for all its arguments and its result? Prints what is wrong; status 0, or 1.
"""
import doctest
import errno
import inspect
import sys
import typing

import numpy as np

import coll

# fewer mean that they were not found
EXAMPLES = 90
FUNCTIONS = 90


def examples():
    modules = [coll, *(sys.modules[f"coll._{m}"] for m in (
        "comm", "messages", "error", "request", "tensors", "types"))]
    failed = tried = 0
    with coll.Comm() as comm, coll.Tensors(comm) as tensors:
        names = {"comm": comm, "tensors": tensors, "me": comm.rank, "np": np, "coll": coll,
                 "errno": errno}
        for module in modules:
            # the package's own example makes a communicator of all ranks
            done = doctest.testmod(module, extraglobs=names)
            failed, tried = failed + done.failed, tried + done.attempted
    print(f"{tried} examples, {failed} failed")
    return failed or tried < EXAMPLES


def public(owner):
    """Functions of a class or a module, with their names."""
    for name, what in vars(owner).items():
        if isinstance(what, property):
            what = what.fget
        if inspect.isfunction(what) and not name.startswith("_"):
            yield f"{owner.__name__}.{name}", what


def hints():
    owners = [*coll.Comm.__mro__[:-1], coll.Message, coll.Error, coll.Request, coll.Tensor,
              coll.Tensors]
    todo = [f for o in owners for f in public(o)]
    todo += [(n, f) for n, f in ((n, getattr(coll, n)) for n in coll.__all__)
             if inspect.isfunction(f)]
    todo += [(f"{o.__name__}()", o.__init__) for o in owners if "__init__" in vars(o)]
    bad = 0
    for name, function in todo:
        have = typing.get_type_hints(function)
        for arg, p in inspect.signature(function).parameters.items():
            if arg == "self" or p.kind is p.VAR_KEYWORD or arg.startswith("_") or arg in have:
                continue
            print(f"{name}: no type of {arg}")
            bad += 1
        if "return" not in have:
            print(f"{name}: no type of the result")
            bad += 1
    print(f"{len(todo)} functions")
    return bad or len(todo) < FUNCTIONS


sys.exit(bool(hints() if sys.argv[1:] == ["hints"] else examples()))
