# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""What one rank has read from a checkpoint, for all others: parameters and states of optimizers."""
import pickle
from typing import Any, List, NamedTuple, Optional, Tuple

import torch
import torch.distributed as dist

from . import _c10d
from ._gradients import _group_of, _wait_for_all


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
                whole = t.contiguous()
                copies.append((named.broadcast(name, whole, root), whole, t))
    _wait_for_all(copies)


class _Place(NamedTuple):
    """Stands for a tensor, which is sent by itself and not pickled."""
    number: int
    shape: Tuple[int, ...]
    dtype: torch.dtype


def _take_out(value: Any, tensors: List[torch.Tensor]) -> Any:
    """The same with places instead of tensors, which are appended to the list."""
    if torch.is_tensor(value):
        if value.device.type != "cpu" or value.layout != torch.strided:
            raise ValueError(f"a tensor of the state is {value.layout} on {value.device}")
        tensors.append(value.detach().contiguous())
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


def _pickled(state: Any, tensors: List[torch.Tensor]) -> Tuple[str, bytes]:
    """What the root sends first: the error, and all but the tensors."""
    try:
        return "", pickle.dumps(_take_out(state, tensors))
    except Exception as e:  # whatever the pickling of an object raises
        tensors.clear()
        return f"{type(e).__name__}: {e}", b""


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root: int = 0,
                              group: Optional[dist.ProcessGroup] = None) -> None:
    """The state of one rank's optimizer into everybody's, with the options of its parameter groups.

    The other ranks' optimizers have parameters alike, and may have no state yet. If the root's state
    cannot be sent, all ranks raise RuntimeError.
    """
    where = _group_of(group)
    tensors: List[torch.Tensor] = []
    is_root = where.rank() == root
    source = dist.get_global_rank(where, root) if group is not None else root
    said: List[Any] = [_pickled(optimizer.state_dict(), tensors) if is_root else None]
    dist.broadcast_object_list(said, src=source, group=group)
    error, data = said[0]
    if error:
        raise RuntimeError(f"the optimizer of rank {root}: {error}")
    state = None if is_root else _put_in(pickle.loads(data), tensors)
    named = _c10d.Named(where)
    with torch.no_grad():
        works = [(named.broadcast(f"state {i} of an optimizer", t, root), t, t)
                 for i, t in enumerate(tensors)]
    _wait_for_all(works)
    if not is_root:
        optimizer.load_state_dict(state)
