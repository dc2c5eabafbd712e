# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The backend "coll" of torch.distributed: collectives through /dev/coll.

	import torch.distributed as dist
	import coll_torch

	dist.init_process_group("coll", init_method=...)

Importing the module is all there is to do. Gradients and DistributedOptimizer reduce by name,
broadcast_parameters and broadcast_optimizer_state begin alike. Documentation/torch.rst has the rest.
"""
from datetime import timedelta

import torch.distributed as dist

from . import _c10d
from ._gradients import DistributedOptimizer, Gradients
from ._state import broadcast_optimizer_state, broadcast_parameters

__version__ = _c10d.version()

__all__ = ["DistributedOptimizer", "Gradients", "broadcast_optimizer_state",
           "broadcast_parameters"]


def _create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroup:
    """Called by init_process_group() and new_group(), on all ranks of the group."""
    return _c10d.create(store, rank, size, timeout)


dist.Backend.register_backend("coll", _create)
