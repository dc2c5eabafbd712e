# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Errors of libcoll as exceptions."""
from ._coll import ffi, lib


class Error(OSError):
    """A call has failed.

    errno: as the C function returns it, positive
    cause: one line about what ended the communicator; "" if it goes on
    """

    def __init__(self, errno: int, text: str, cause: str = "") -> None:
        super().__init__(errno, text)
        self.cause = cause


def last_error() -> str:
    """One line about why init(), Comm() or Comm.split() failed in this thread; or ""."""
    return ffi.string(lib.coll_last_error()).decode(errors="replace")


def _cause(comm) -> str:
    status = ffi.new("struct coll_status *")
    if comm == ffi.NULL or lib.coll_comm_status(comm, status) or not status.cause.kind:
        return ""
    line = ffi.new("char[]", 512)
    lib.coll_cause_str(ffi.addressof(status, "cause"), line, len(line))
    return ffi.string(line).decode(errors="replace")


def check(ret: int, what: str, comm=ffi.NULL, details: str = "") -> None:
    """Raises Error unless @ret is 0."""
    if ret == 0:
        return
    text = f"{what}: {ffi.string(lib.coll_strerror(ret)).decode()}"
    cause = _cause(comm)
    for more in (details, cause):
        if more:
            text += "; " + more
    raise Error(-ret, text, cause)
