# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Arrays, their types, and operators."""
import enum
import errno
import operator
from typing import Any, Tuple, Union

import numpy as np

from ._coll import ffi, lib
from ._error import Error, check


class Op(enum.IntEnum):
    """Operators of reductions; see Documentation/reductions.rst."""

    SUM = lib.COLL_OP_SUM
    PROD = lib.COLL_OP_PROD
    MIN = lib.COLL_OP_MIN
    MAX = lib.COLL_OP_MAX
    LAND = lib.COLL_OP_LAND
    LOR = lib.COLL_OP_LOR
    LXOR = lib.COLL_OP_LXOR
    BAND = lib.COLL_OP_BAND
    BOR = lib.COLL_OP_BOR
    BXOR = lib.COLL_OP_BXOR
    MINLOC = lib.COLL_OP_MINLOC
    MAXLOC = lib.COLL_OP_MAXLOC
    AVG = lib.COLL_OP_AVG
    REPLACE = lib.COLL_OP_REPLACE
    NO_OP = lib.COLL_OP_NO_OP
    SUM_EXACT = lib.COLL_OP_SUM_EXACT


SUM, PROD, MIN, MAX = Op.SUM, Op.PROD, Op.MIN, Op.MAX
LAND, LOR, LXOR, BAND, BOR, BXOR = Op.LAND, Op.LOR, Op.LXOR, Op.BAND, Op.BOR, Op.BXOR
MINLOC, MAXLOC, AVG, REPLACE = Op.MINLOC, Op.MAXLOC, Op.AVG, Op.REPLACE
NO_OP, SUM_EXACT = Op.NO_OP, Op.SUM_EXACT

IN_PLACE: Any = "in place"

# By name: bfloat16 and the floats of 8 bits are those of the package ml_dtypes.
_BY_NAME = {
    "int8": lib.COLL_I8, "uint8": lib.COLL_U8, "int16": lib.COLL_I16, "uint16": lib.COLL_U16,
    "int32": lib.COLL_I32, "uint32": lib.COLL_U32, "int64": lib.COLL_I64, "uint64": lib.COLL_U64,
    "bool": lib.COLL_BOOL, "float16": lib.COLL_F16, "bfloat16": lib.COLL_BF16,
    "float8_e4m3fn": lib.COLL_F8E4M3, "float8_e5m2": lib.COLL_F8E5M2, "float32": lib.COLL_F32,
    "float64": lib.COLL_F64, "float128": lib.COLL_LDOUBLE, "complex64": lib.COLL_C32,
    "complex128": lib.COLL_C64, "complex256": lib.COLL_CLDOUBLE,
}

# A value and its place, for MINLOC and MAXLOC: two fields, laid out as in C.
_PAIRS = {
    ("float32", "int32"): lib.COLL_F32_I32, ("float64", "int32"): lib.COLL_F64_I32,
    ("int64", "int32"): lib.COLL_I64_I32, ("int32", "int32"): lib.COLL_I32_I32,
    ("int16", "int32"): lib.COLL_I16_I32, ("float128", "int32"): lib.COLL_LDOUBLE_I32,
    ("float32", "float32"): lib.COLL_F32_F32, ("float64", "float64"): lib.COLL_F64_F64,
}


def _pair_of(dtype: np.dtype) -> int:
    """The same of two fields, if they lie as those of a struct in C."""
    fields = [dtype.fields[n] for n in dtype.names]
    found = _PAIRS.get(tuple(f[0].name for f in fields), 0)
    if not found:
        return 0
    first, second = fields[0][0], fields[1][0]
    offset = (first.itemsize + second.alignment - 1) // second.alignment * second.alignment
    return found if [f[1] for f in fields] == [0, offset] else 0


def dtype_of(dtype: np.dtype) -> int:
    """The enum coll_dtype of elements of that type. Raises TypeError if there is none."""
    found = 0
    if dtype.isnative:
        found = _pair_of(dtype) if dtype.fields else _BY_NAME.get(dtype.name, 0)
    if not found or lib.coll_dtype_bytes(found) != dtype.itemsize:
        raise TypeError(f"libcoll has no type for elements of {dtype!r}")
    return found


def array(a: Any, what: str, write: bool = False) -> np.ndarray:
    """@a as it is. Raises TypeError or ValueError unless it can be used in place."""
    if not isinstance(a, np.ndarray):
        raise TypeError(f"{what} has to be a numpy array, not {type(a).__name__}")
    if not a.flags.c_contiguous:
        raise ValueError(f"{what} has to be contiguous (C order)")
    if write and not a.flags.writeable:
        raise ValueError(f"{what} cannot be written")
    return a


def pointer(a: np.ndarray):
    """The address of its elements, for C."""
    return ffi.cast("void *", a.ctypes.data)


def vector(a: Any, what: str, write: bool = False):
    """Checks an argument as array() does, and returns its address."""
    return pointer(array(a, what, write))


def same_type(a: np.ndarray, b: np.ndarray) -> int:
    """The common enum coll_dtype. Raises TypeError if they differ."""
    if a.dtype != b.dtype:
        raise TypeError(f"elements differ: {a.dtype} and {b.dtype}")
    return dtype_of(a.dtype)


def op_supported(op: Union[Op, int], dtype: Any) -> bool:
    """May this operator be applied to elements of this type?

    >>> op_supported(SUM, np.float32), op_supported(BAND, np.float32)
    (True, False)
    """
    return bool(lib.coll_op_supported(op, dtype_of(np.dtype(dtype))))


def reduce_local(a: np.ndarray, inout: np.ndarray, op: Union[Op, int] = SUM) -> np.ndarray:
    """inout = a op inout, in this process, with the bits of the kernel. Returns inout.

    >>> reduce_local(np.array([1, 2, 3]), np.array([10, 20, 30]))
    array([11, 22, 33])
    """
    array(a, "a")
    array(inout, "inout", write=True)
    if a.size != inout.size:
        raise ValueError(f"{a.size} and {inout.size} elements")
    check(lib.coll_reduce_local(pointer(a), pointer(inout), a.size, same_type(a, inout), op),
          "reduce_local")
    return inout


def whole(numbers: Any) -> list:
    """As int, whose sums do not overflow as those of small types of numpy do."""
    return [operator.index(n) for n in numbers]


def counts_of(counts: Any, size: int, what: str = "counts") -> Tuple[Any, list]:
    """(uint64_t[], list): one count for each rank."""
    values = whole(counts)
    if len(values) != size or min(values, default=0) < 0:
        raise Error(errno.EINVAL, f"{what} has to have {size} numbers from 0 on")
    return ffi.new("uint64_t[]", values), values
