# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Nonblocking calls under way."""
from typing import Any

from ._coll import ffi, lib
from ._error import check


class Request:
    """A nonblocking call under way. Its arrays belong to the kernel until it is over."""

    def __init__(self, comm, request, result: Any, keep: tuple, what: str):
        self._comm = comm
        self._request = request
        self._result = result
        self._keep = keep
        self._what = what

    def _over(self, ret: int) -> Any:
        self._request = None
        self._keep = ()
        check(ret, self._what, self._comm._c)
        return self._result() if callable(self._result) else self._result

    def wait(self) -> Any:
        """Waits for the end. Returns what the blocking call would; raises Error as that would."""
        if self._request is None:
            return self._result
        return self._over(lib.coll_wait(self._request))

    def test(self) -> bool:
        """Is it over? Raises Error if it has failed."""
        if self._request is None:
            return True
        done = ffi.new("int *")
        ret = lib.coll_test(self._request, done)
        if not done[0]:
            return False
        self._result = self._over(ret)
        return True

    def cancel(self) -> None:
        """Takes a send or a receive back that has no partner yet; wait() tells, by ECANCELED."""
        if self._request is not None:
            check(lib.coll_cancel(self._request), "cancel", self._comm._c)
