# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Collective communication through /dev/coll: a Python interface of libcoll.

Vectors are numpy arrays, used where they are: nothing is copied. Calls release the GIL.

>>> import numpy as np
>>> import coll
>>> with coll.Comm() as comm:		# who we are, the environment says: collrun, mpirun, srun
...     a = np.arange(4.0)
...     b = comm.allreduce(a, op=coll.SUM)

An error of a call is a coll.Error, an OSError with the errno of the C function; its ``cause``
says what ended the communicator, if anything has.
"""
from ._coll import ffi as _ffi, lib as _lib
from ._comm import Comm, init
from ._error import Error, last_error
from ._messages import Message
from ._request import Request
from ._tensors import Tensor, Tensors
from ._types import (AVG, BAND, BOR, BXOR, LAND, LOR, LXOR, MAX, MAXLOC, MIN, MINLOC, NO_OP, PROD,
                     REPLACE, SUM, SUM_EXACT, Op, op_supported, reduce_local)

#: As send buffer: the input is in the receive buffer.
from ._types import IN_PLACE

#: As source or tag of a receive: any.
ANY_SOURCE: int = _lib.COLL_RANK_ANY
ANY_TAG: int = _lib.COLL_TAG_ANY

#: As color of Comm.split(): in none of the new communicators.
UNDEFINED: int = _lib.COLL_UNDEFINED

__version__: str = _ffi.string(_lib.coll_version()).decode()

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "AVG", "BAND", "BOR", "BXOR", "Comm", "Error", "IN_PLACE", "LAND",
    "LOR", "LXOR", "MAX", "MAXLOC", "MIN", "MINLOC", "Message", "NO_OP", "Op", "PROD",
    "REPLACE", "Request", "SUM", "SUM_EXACT", "Tensor", "Tensors", "UNDEFINED", "init",
    "last_error", "op_supported", "reduce_local",
]
