# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""What one rank has read from a checkpoint, for all others: parameters and states of optimizers."""
import pickle
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch
import torch.distributed as dist

from . import _c10d
from ._gradients import _group_of, _in_rows, _wait_for_all


def broadcast_parameters(named_tensors: Any, root: int = 0,
                         group: Optional[dist.ProcessGroup] = None) -> None:
    """The tensors of one rank into everybody's: those of state_dict() or named_parameters()."""
    items = named_tensors.items() if hasattr(named_tensors, "items") else named_tensors
    named = _c10d.Named(_group_of(group))
    copies = []
    with torch.no_grad():
        for name, t in items:
            if torch.is_tensor(t):
                t = t.detach()
                whole = _in_rows(t)
                copies.append((named.broadcast(name, whole, root), whole, t))
    _wait_for_all(copies)


class _Place(NamedTuple):
    """Stands for a tensor, which is sent by itself and not pickled."""
    number: int
    shape: Tuple[int, ...]
    dtype: torch.dtype


# What coll has: torch.rst
_TYPES = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool,
          torch.float16, torch.bfloat16, torch.float32, torch.float64,
          torch.complex64, torch.complex128}


def _take_out(value: Any, tensors: List[torch.Tensor]) -> Any:
    """The same with places instead of tensors, which are appended to the list."""
    if torch.is_tensor(value):
        if value.device.type != "cpu" or value.layout != torch.strided or value.dtype not in _TYPES:
            raise ValueError(f"a tensor of the state is {value.layout} on {value.device}, of type "
                             f"{value.dtype}")
        tensors.append(_in_rows(value.detach()))
        return _Place(len(tensors) - 1, tuple(value.shape), value.dtype)
    if isinstance(value, dict):
        return {k: _take_out(v, tensors) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_take_out(v, tensors) for v in value)
    return value


def _put_in(value: Any, tensors: List[torch.Tensor]) -> Any:
    """The opposite. Appends an empty tensor for each place, in the order of their numbers."""
    if isinstance(value, _Place):
        tensors.append(torch.empty(value.shape, dtype=value.dtype))
        return tensors[-1]
    if isinstance(value, dict):
        return {k: _put_in(v, tensors) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_put_in(v, tensors) for v in value)
    return value


def _on_all(group: Optional[dist.ProcessGroup], call: Callable) -> Any:
    """The result of the call. If it fails on a rank, all ranks raise RuntimeError."""
    result, error = None, None
    try:
        result = call()
    except Exception as e:  # whatever an optimizer, or an object that is pickled, raises
        error = e
    failed = torch.tensor([error is not None], dtype=torch.int32)
    dist.all_reduce(failed, dist.ReduceOp.MAX, group)
    if error is not None:
        raise RuntimeError(f"the state of the optimizer: {type(error).__name__}: {error}") from error
    if failed:
        raise RuntimeError("the state of the optimizer: another rank has an error")
    return result


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root: int = 0,
                              group: Optional[dist.ProcessGroup] = None) -> None:
    """The state of one rank's optimizer into everybody's, with the options of its parameter groups.

    The other ranks' optimizers have parameters alike, and may have no state yet. All ranks load the
    state, also the root: load_state_dict() changes types of tensors. If the state cannot be sent,
    or cannot be loaded on a rank, all ranks raise RuntimeError.
    """
    where = _group_of(group)
    is_root = where.rank() == root
    source = dist.get_global_rank(where, root) if group is not None else root
    tensors: List[torch.Tensor] = []

    def give() -> Tuple[Any, bytes]:
        mine = optimizer.state_dict()
        return mine, pickle.dumps(_take_out(mine, tensors))

    state, data = _on_all(group, give if is_root else lambda: (None, b""))
    said = [data]
    dist.broadcast_object_list(said, src=source, group=group)
    taken = _on_all(group, lambda: state if is_root else _put_in(pickle.loads(said[0]), tensors))
    named = _c10d.Named(where)
    with torch.no_grad():
        works = [(named.broadcast(f"state {i} of an optimizer", t, root), t, t)
                 for i, t in enumerate(tensors)]
    _wait_for_all(works)
    _on_all(group, lambda: optimizer.load_state_dict(taken))
