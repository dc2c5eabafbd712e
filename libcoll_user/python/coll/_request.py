# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Nonblocking calls under way."""
import errno
import os
import threading
import time
import weakref
from typing import Any, Dict

from ._coll import ffi, lib
from ._error import Error, check

# A wait looks so often whether the communicator is still there, and whether to cancel.
_SLICE_NS = 50_000_000


def is_own(lock: Any) -> bool:
    """Does this thread hold it? Then this is a signal handler, which has interrupted the holder.

    Locks are RLocks because these know their thread: none is taken twice.
    """
    return lock._is_owned()


def not_inside(lock: Any, what: str, comm: Any = ffi.NULL) -> None:
    """Raises Error if this thread would wait for itself."""
    if is_own(lock):
        check(-errno.EDEADLK, what, comm)


class Call:
    """The functions of C that one thread is in. Its lock is held there."""

    def __init__(self) -> None:
        self._lock: Any = threading.RLock()

    def test(self) -> bool:
        """Is the thread in none?"""
        if is_own(self._lock):
            return True
        if not self._lock.acquire(blocking=False):
            return False
        self._lock.release()
        return True

    def _forget(self) -> tuple:
        """Waits until the thread is in none."""
        with self._lock:
            return ()

    def _take_back(self) -> None:
        """Nothing: see Request._take_back()."""


class Calls:
    """What is under way in a Comm or a Tensors, so that finalize() frees nothing that is in use."""

    def __init__(self) -> None:
        # Requests or tensors that somebody has.
        self.live: Any = weakref.WeakSet()
        # By id of their _at: (_at, _done, arrays) of those that are not over. The collector of
        # garbage takes all weak references to a cycle away before it calls a __del__ there.
        self.open: Dict[int, tuple] = {}
        # Functions of C, by thread.
        self._threads: Dict[int, Call] = {}

    def inside(self) -> Any:
        """A lock: hold it in each function of C.

        With the lock, look first whether the communicator has been finalized.
        """
        me = threading.get_ident()
        found = self._threads.get(me)
        if found is None:
            found = self._threads[me] = Call()
        return found._lock

    def _living(self) -> list:
        while True:
            try:
                return list(self.live)
            except RuntimeError:
                pass  # another thread has added one

    def all(self) -> list:
        """What has a lock."""
        return self._living() + list(self._threads.values())

    def wait_for_locks(self) -> None:
        """Waits until no thread is in a function of C. For finalize(): none enters one any more."""
        for call in self.all():
            with call._lock:
                pass

    def lost(self) -> list:
        """Entries of open whose objects are garbage."""
        live = {id(call._at) for call in self._living()}
        return [entry for key, entry in list(self.open.items()) if key not in live]

    def threads_leave(self, seconds: float) -> bool:
        """Is no other thread in a function of C, at the latest after so many seconds?"""
        until = time.monotonic() + seconds
        while not all(call.test() for call in list(self._threads.values())):
            if time.monotonic() > until:
                return False
            time.sleep(0.001)
        return True


# All Comm and Tensors: they have locks, and so have their calls under way.
_holders: Any = weakref.WeakSet()


def watch_forks(holder: Any) -> None:
    """In a forked child its locks are free: see _renew_locks()."""
    _holders.add(holder)


def _renew_lock(owner: Any, name: str) -> None:
    if not is_own(getattr(owner, name)):
        setattr(owner, name, threading.RLock())


def _renew_locks() -> None:
    """In a child: a thread of the parent, which the child does not have, may hold any lock.

    The functions of C need no lock there: they return EPERM, or free the copy of the child.
    """
    for holder in list(_holders):
        _renew_lock(holder, "_sweeping")
        for call in holder._calls.all():
            _renew_lock(call, "_lock")
            if isinstance(call, Request):
                call._leave_to_parent()


os.register_at_fork(after_in_child=_renew_locks)


class Request:
    """A nonblocking call under way. Its arrays belong to the kernel until it is over.

    Several threads may use one. If nobody waits, the communicator keeps the arrays until the call
    is over. In a signal handler wait() fails with EDEADLK if that has interrupted a wait() for the
    same request.
    """

    def __init__(self, comm: Any, result: Any, keep: tuple, what: str) -> None:
        self._comm = comm
        self._result = result
        self._keep = keep
        self._what = what
        self._error = None
        self._over = False
        self._to_cancel = False
        # Held by the thread that is in a function of C with the request, which that may free.
        self._lock: Any = threading.RLock()
        self._done = ffi.new("int *")
        # Where the C function puts the request. An exception may come behind any call, by a
        # signal, and finds it here.
        self._at = ffi.new("coll_request_t **")

    def __del__(self):
        at = getattr(self, "_at", None)
        if at is not None and at[0] != ffi.NULL and not self._done[0]:
            self._comm._leave(at[0], self._keep, self._done)
        if at is not None:
            self._comm._calls.open.pop(id(at), None)

    def _end(self, ret: int) -> None:
        self._keep = ()
        self._at[0] = ffi.NULL
        self._comm._calls.open.pop(id(self._at), None)
        try:
            check(ret, self._what, self._comm._c)
            if callable(self._result):
                self._result = self._result()
        except Error as e:
            self._error = e.with_traceback(None)
        self._over = True

    def _step(self, ns: int) -> bool:
        """Looks, for so many nanoseconds. The lock is held. Is it over?"""
        if self._over:
            return True
        self._comm._check_alive()
        if self._to_cancel:
            self._to_cancel = False
            lib.coll_cancel(self._at[0])
        # An exception came behind this call, and nobody knows what it returned.
        ret = -errno.EINTR if self._done[0] else lib.coll_wait_for(self._at[0], ns, self._done)
        if self._done[0]:
            self._end(ret)
        return self._over

    def _answer(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def _forget(self) -> tuple:
        """coll_finalize() frees it. Returns what has to stay until then."""
        with self._lock:
            self._at[0] = ffi.NULL
            return self._keep

    def _leave_to_parent(self) -> None:
        """In a child. A thread of the parent may be in a function of C that writes _done."""
        if not self._over:
            self._end(-errno.EPERM)

    def _take_back(self) -> None:
        """Cancels it, if that is possible."""
        if self._what in ("send", "recv") and not is_own(self._lock) and \
                self._lock.acquire(blocking=False):
            try:
                if not self._over and not self._done[0] and self._at[0] != ffi.NULL:
                    lib.coll_cancel(self._at[0])
            finally:
                self._lock.release()

    def wait(self) -> Any:
        """Waits for the end. Returns what the blocking call would; raises Error as that would.

        >>> comm.ibroadcast(np.array([me])).wait()
        array([0])
        """
        over = False
        not_inside(self._lock, "wait", self._comm._c)
        while not over:
            with self._lock:
                over = self._step(_SLICE_NS)
        return self._answer()

    def test(self) -> bool:
        """Is it over? Raises Error if it has failed.

        >>> request = comm.ibarrier()
        >>> while not request.test():
        ...     pass
        """
        # Another thread waits for it.
        if is_own(self._lock) or not self._lock.acquire(blocking=False):
            return False
        try:
            if not self._step(0):
                return False
        finally:
            self._lock.release()
        self._answer()
        return True

    def cancel(self) -> None:
        """Takes a send or a receive back that has no partner yet; wait() tells, by ECANCELED.

        >>> request = comm.irecv(np.empty(1), tag=99)
        >>> request.cancel()
        >>> try:
        ...     request.wait()
        ... except coll.Error as e:
        ...     e.errno == errno.ECANCELED
        True
        """
        if self._what not in ("send", "recv") and not self._over:
            check(-errno.EINVAL, "cancel")
        # The thread that waits for it looks.
        if is_own(self._lock) or not self._lock.acquire(blocking=False):
            self._to_cancel = True
            return
        try:
            if not self._over and not self._done[0]:
                self._comm._check_alive()
                check(lib.coll_cancel(self._at[0]), "cancel", self._comm._c)
        finally:
            self._lock.release()
