# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Gradients by name: each is reduced as soon as all ranks have it, in any order."""
import math
import types
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

import torch
import torch.distributed as dist

from . import _c10d

_NamedTensors = Iterable[Tuple[str, torch.Tensor]]
# The name of a question among the ranks: see Gradients._added_by_any()
_QUESTION = "gradients added after wait()"


def _group_of(group: Optional[dist.ProcessGroup]) -> dist.ProcessGroup:
    return dist.distributed_c10d._get_default_group() if group is None else group


def _wait_for_all(works: Iterable[Tuple[Any, torch.Tensor, torch.Tensor]]) -> None:
    """Waits for each work, and copies what it has moved to where it belongs.

    If some fail, the others are complete nevertheless, on all ranks. Then raises the first error.
    """
    failed = None
    with torch.no_grad():
        for work, whole, target in works:
            try:
                work.wait()
            except RuntimeError as e:
                failed = failed or e
                continue
            if whole.data_ptr() != target.data_ptr():
                target.copy_(whole)
    if failed is not None:
        raise failed


def _in_rows(t: torch.Tensor) -> torch.Tensor:
    """The same tensor, or a copy if its elements do not lie one behind the other."""
    return t.resolve_conj().resolve_neg().contiguous()


def _each_once(named_parameters: _NamedTensors) -> Dict[str, torch.Tensor]:
    """By name. A tensor with several names, as of tied weights, has the first one only."""
    by_name: Dict[str, torch.Tensor] = {}
    known: Set[int] = set()
    for name, p in named_parameters:
        if name in by_name:
            raise ValueError(f"two parameters have the name {name!r}")
        if p.requires_grad and id(p) not in known:
            by_name[name] = p
            known.add(id(p))
    return by_name


class Gradients:
    """Reduces the gradients of parameters over the ranks of a group, while backward() goes on.

    named_parameters: as of torch.nn.Module.named_parameters(); the names are alike on all ranks
    group: of the backend "coll"; the default group if it is None
    op: of the reduction
    wire: torch.float16 or torch.bfloat16 for float32 between nodes; sums stay float32
    passes: how often backward() adds to a gradient before it is reduced
    present: AVG divides by the number of ranks that have not joined, and not by that of all
    predivide: AVG divides by this before the sum, and by the number of ranks / this behind it
    sparse_as_dense: sparse gradients become dense ones; otherwise they are refused

    A collective of the group. A gradient is posted by its name when autograd has added it up, and
    starts when all ranks have posted it. Call wait() before the gradients are used.
    """

    def __init__(self, named_parameters: _NamedTensors, group: Optional[dist.ProcessGroup] = None, *,
                 op: Any = dist.ReduceOp.AVG, wire: Optional[torch.dtype] = None,
                 passes: int = 1, present: bool = False, predivide: float = 1.0,
                 sparse_as_dense: bool = False) -> None:
        if passes < 1:
            raise ValueError(f"passes is {passes}, and has to be 1 or more")
        if op != dist.ReduceOp.AVG and present:
            raise ValueError("present is for AVG")
        if op != dist.ReduceOp.AVG and predivide != 1.0:
            raise ValueError("predivide is for AVG")
        if not 0.0 < predivide < math.inf:
            raise ValueError(f"predivide is {predivide}, and has to be more than 0")
        self._op, self._passes, self._sparse_as_dense = op, passes, sparse_as_dense
        self._options = {"wire": wire, "present": present}
        if predivide != 1.0:
            self._options.update(prescale=1.0 / predivide, postscale=predivide)
        self._parameters: Dict[str, torch.Tensor] = {}
        self._named = _c10d.Named(_group_of(group))
        self._seen: Dict[str, int] = {}
        # wait() was called since the last step of a DistributedOptimizer(). Alike on all ranks.
        self._waited = False
        # backward() has added to a gradient since the last wait(). Each rank has its own answer.
        self._added = False
        # (work, what is reduced, the gradient that gets it)
        self._pending: Dict[str, Tuple[Any, torch.Tensor, torch.Tensor]] = {}
        self._removed = False
        # autograd knows the hooks only as long as these nodes are there
        self._nodes, self._hooks = [], []
        self.add(named_parameters)

    def add(self, named_parameters: _NamedTensors) -> None:
        """Reduces these gradients as well, from the next backward() on. All ranks add them alike.

        For parameters that are trained later: of new modules, or whose requires_grad was False.
        Parameters that are reduced already, and those whose requires_grad is False, are left out.
        """
        known = {id(p) for p in self._parameters.values()}
        new = {name: p for name, p in _each_once(named_parameters).items() if id(p) not in known}
        both = sorted(set(new) & set(self._parameters))
        if both:
            raise ValueError(f"two parameters have the name {both[0]!r}")
        for name, p in new.items():
            node = p.view_as(p).grad_fn.next_functions[0][0]
            self._nodes.append(node)
            self._hooks.append(node.register_hook(self._hook(name)))
            self._parameters[name] = p
            self._seen[name] = 0

    def _refuse_others(self, parameters: Iterable[torch.Tensor]) -> None:
        """A step must not use gradients that differ from rank to rank.

        If only some ranks raise the error, the others wait for them until their deadline.
        """
        known = {id(p) for p in self._parameters.values()}
        if any(p.grad is not None and id(p) not in known for p in parameters):
            raise ValueError("the optimizer has a parameter with a gradient that is not reduced: "
                             "has requires_grad been set since? Call gradients.add()")

    def _hook(self, name: str) -> Callable:
        def added(*_args: Any) -> None:
            self._seen[name] += 1
            if self._seen[name] > self._passes:
                raise RuntimeError(f"backward() has added to the gradient of {name!r} more than "
                                   f"{self._passes} times since the last wait()")
            self._added = True
            if self._seen[name] == self._passes:
                self._post(name)
        return added

    def _post(self, name: str) -> None:
        p = self._parameters[name]
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        if p.grad.layout != torch.strided:
            if not self._sparse_as_dense:
                raise ValueError(f"the gradient of {name!r} is sparse; use sparse_as_dense=True")
            p.grad = p.grad.to_dense()
        grad = p.grad.detach()
        whole = _in_rows(grad)
        work = self._named.allreduce(name, whole, self._op, **self._options)
        self._pending[name] = work, whole, grad

    def wait(self) -> None:
        """All gradients are reduced afterwards, also those that backward() has not reached.

        Raises RuntimeError if one of them fails, with its name and the cause. The others are
        reduced nevertheless.
        """
        self._reduce()
        self._waited, self._added = True, False

    def _reduce_for_step(self) -> None:
        """Reduces, unless wait() has done so and no rank has anything new."""
        waited, self._waited = self._waited, False
        if not waited or self._added_by_any():
            self._reduce()

    def _added_by_any(self) -> bool:
        """Has backward() added to a gradient on any rank since the last wait()?

        All ranks have to get the same answer, and on some of them backward() may have reached no
        parameter: so they ask each other.
        """
        answer = torch.tensor([self._added], dtype=torch.int32)
        self._named.allreduce(_QUESTION, answer, dist.ReduceOp.MAX).wait()
        return bool(answer)

    def _reduce(self) -> None:
        for name in self._parameters:
            if name not in self._pending:
                self._post(name)
        pending, self._pending = self._pending, {}
        self._seen = dict.fromkeys(self._parameters, 0)
        _wait_for_all(pending.values())

    def join(self) -> int:
        """This rank has no more data: waits until no rank has. Returns the last rank to join.

        Until then the other ranks go on, and this rank contributes nothing to their gradients. It has
        waited for its own ones before. backward() must not reach a parameter meanwhile.
        """
        if self._pending or any(self._seen.values()):
            raise RuntimeError("join() before wait(): backward() has added to gradients")
        self._waited, self._added = False, False
        last = torch.zeros(1, dtype=torch.int32)
        self._named.join(last).wait()
        return int(last)

    def remove(self) -> None:
        """Autograd posts nothing any more. step() of a DistributedOptimizer() does not reduce."""
        self._removed = True
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()


def _own(optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
    return [p for options in optimizer.param_groups for p in options["params"]]


def _names_for(optimizer: torch.optim.Optimizer, named_parameters: Optional[_NamedTensors]
               ) -> List[Tuple[str, torch.Tensor]]:
    """The parameters of this optimizer. Others may belong to another optimizer."""
    own = _own(optimizer)
    if named_parameters is None:
        return [(f"parameter {i}", p) for i, p in enumerate(own)]
    ids = {id(p) for p in own}
    named = [(name, p) for name, p in named_parameters if id(p) in ids]
    without = {id(p) for p in own if p.requires_grad} - {id(p) for _, p in named}
    if without:
        raise ValueError(f"parameters of the optimizer without a name: {len(without)}")
    return named


def DistributedOptimizer(optimizer: torch.optim.Optimizer,
                         named_parameters: Optional[_NamedTensors] = None,
                         group: Optional[dist.ProcessGroup] = None,
                         **options: Any) -> torch.optim.Optimizer:
    """The optimizer, whose step() waits for the gradients of all ranks before it uses them.

    named_parameters: with all parameters of the optimizer; others are ignored. None: the parameters
    are numbered. The optimizers of all ranks have them in the same order then.
    options: those of Gradients. ``optimizer.gradients`` is that object: call its wait() before
    gradients are clipped, for example. All ranks call wait() and step() alike.

    step() after wait() reduces nothing, unless backward() has added to a gradient on any rank
    meanwhile. So step() may be left out after wait(), if all ranks leave it out: the next step()
    reduces what backward() adds after that. The ranks ask each other by one number. For users of
    Horovod: wait() is synchronize(), and skip_synchronize() is not needed.

    add_param_group() of all ranks adds its parameters, whose names have to be in named_parameters,
    if that is given, or in ``optimizer.gradients.add()`` before. Call that as well when the
    requires_grad of a parameter has become True: step() raises ValueError otherwise.
    """
    before = getattr(optimizer, "gradients", None)
    if isinstance(before, Gradients) and not before._removed:
        raise ValueError("the optimizer is distributed already; call its gradients.remove() first")
    named = None if named_parameters is None else list(named_parameters)
    gradients = Gradients(_names_for(optimizer, named), group, **options)
    step, add_param_group = optimizer.step, optimizer.add_param_group

    def step_when_reduced(_self: Any, closure: Optional[Callable] = None) -> Any:
        if gradients._removed:
            return step() if closure is None else step(closure)

        def reduce() -> None:
            gradients._refuse_others(_own(optimizer))
            gradients._reduce_for_step()

        def evaluate() -> Any:
            loss = closure()
            reduce()
            return loss

        if closure is not None:
            return step(evaluate)
        reduce()
        return step()

    def add_group_and_reduce(_self: Any, param_group: Dict[str, Any]) -> None:
        add_param_group(param_group)
        if gradients._removed:
            return
        if named is not None:
            ids = {id(p) for _, p in named}
            named.extend(item for item in gradients._parameters.items() if id(item[1]) not in ids)
        try:
            gradients.add(_names_for(optimizer, named))
        except ValueError:
            optimizer.param_groups.pop()
            raise

    optimizer.gradients = gradients
    # bound to it, as schedulers of learning rates expect
    optimizer.step = types.MethodType(step_when_reduced, optimizer)
    optimizer.add_param_group = types.MethodType(add_group_and_reduce, optimizer)
    return optimizer
