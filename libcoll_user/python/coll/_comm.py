# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Communicators."""
import collections
import errno
import itertools
import threading
import time
from typing import Any, Callable, Iterable, Optional, Tuple, Union

import numpy as np

from ._coll import ffi, lib
from ._error import Error, check, last_error
from ._messages import Messages
from ._request import Calls, Request, is_own, not_inside, watch_forks
from ._types import IN_PLACE, SUM, Op, array, counts_of, dtype_of, pointer, same_type, whole

_NONE = ffi.NULL
_HERE = ffi.cast("void *", -1)		# COLL_IN_PLACE
# Seconds in which calls under way are over, or have been taken back, if they can be.
GIVEN_UP_WITHIN = 0.2

Array = np.ndarray
OpCode = Union[Op, int]


@ffi.def_extern(onerror=lambda *_: -5)
def coll_py_exchange(ctx, mine, everybody, length, timeout_ms):
    """Calls the function that Comm() was given."""
    exchange, size, raised = ffi.from_handle(ctx)
    try:
        blobs = [bytes(b) for b in exchange(bytes(ffi.buffer(mine, length)), timeout_ms)]
    except BaseException as e:  # Comm() raises it again
        raised.append(e)
        return -errno.EIO
    if len(blobs) != size or any(len(b) != length for b in blobs):
        return -errno.EINVAL
    ffi.buffer(everybody, length * size)[:] = b"".join(blobs)
    return 0


def is_over(request: Any) -> bool:
    """Is this request or tensor over, however it has ended?"""
    try:
        return request.test()
    except Error:
        return True


def ends_soon(owner: Any) -> bool:
    """Do all calls of a Comm, or all tensors of a Tensors, end within GIVEN_UP_WITHIN?"""
    until = time.monotonic() + GIVEN_UP_WITHIN
    while owner._c:
        owner._sweep()
        if not owner._left and all(map(is_over, owner._calls.all())) and owner._lost_are_over():
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True


def _offsets(displs: Optional[Iterable[int]], size: int):
    return _NONE if displs is None else counts_of(displs, size, "displs")[0]


def _starts(counts: list, displs: Optional[Iterable[int]]) -> Iterable[int]:
    """Where blocks begin that lie one behind the other, unless @displs says it."""
    return itertools.accumulate([0] + counts[:-1]) if displs is None else displs


def _unmade() -> "Comm":
    """An object for a communicator that a function of C is about to make."""
    new = Comm.__new__(Comm)
    new._prepare()
    return new


class Comm(Messages):
    """A communicator: this process as one rank of it. Usable in a ``with`` statement.

    Without rank and size the environment says who we are, as coll_config_env() does; ``key``,
    ``node``, ``device``, ``timeout`` and ``uring=False`` replace what it says. Else: rank, size, and
    how to meet, which is ``rendezvous`` ("host:port") with ``key``, or ``exchange``, a function
    (bytes, timeout_ms) -> list of the bytes of all ranks.

    All ranks call the collectives of a communicator in the same order. Arrays are contiguous,
    and are used in place; a call returns the array with its result.

    In the examples ``comm`` has 2 ranks, ``me`` is ``comm.rank``, and all ranks do the same.
    """

    def __init__(self, rank: Optional[int] = None, size: Optional[int] = None, *,
                 rendezvous: Optional[str] = None, key: Optional[str] = None,
                 node: Optional[str] = None, device: Optional[str] = None, timeout: float = 0,
                 exchange: Optional[Callable[[bytes, int], list]] = None,
                 uring: bool = True) -> None:
        self._prepare()
        self._init(rank, size, rendezvous, key, node, device, timeout, exchange, uring)
        self._begin(self._at[0])

    def _prepare(self) -> None:
        """As yet there is no communicator."""
        # The communicator that this object owns. A function of C puts it here: an exception may
        # come behind any call, by a signal.
        self._at = ffi.new("coll_comm_t **")
        self._c = _NONE
        # coll_finalize() has returned.
        self._freed = False
        self._calls = Calls()
        # Requests that nobody waits for, with their arrays
        self._left: Any = collections.deque()
        self._sweeping: Any = threading.RLock()
        # Messages that are reserved, and that nobody has: see _reserve()
        self._reserved: Any = {}
        watch_forks(self)

    def _begin(self, c: Any) -> "Comm":
        self._rank: int = lib.coll_comm_rank(c)
        self._size: int = lib.coll_comm_size(c)
        self._c = c
        return self

    def _init(self, rank, size, rendezvous, key, node, device, timeout, exchange, uring) -> None:
        config, keep, raised = _NONE, [], []

        def text(s):
            if s is None:
                return _NONE
            keep.append(ffi.new("char[]", s.encode()))
            return keep[-1]

        if (rank is None) != (size is None):
            raise TypeError("rank and size go together")
        if rank is None and (rendezvous is not None or exchange is not None):
            raise TypeError("rendezvous and exchange need rank and size")
        if rank is not None or timeout or not uring or (key, node, device) != (None, None, None):
            config = ffi.new("struct coll_config *")
            config.struct_size = ffi.sizeof("struct coll_config")
            config.size = 1
            if rank is None:
                ret = lib.coll_config_env(config)
                check(ret, "init", details=last_error() if ret else "")
            else:
                config.rank, config.size, config.rendezvous = rank, size, text(rendezvous)
            for name, value in ("key", key), ("node", node), ("device", device):
                if value is not None:
                    setattr(config, name, text(value))
            if timeout:
                config.timeout_ms = int(timeout * 1000)
            if not uring:
                config.flags |= lib.COLL_CONFIG_NO_URING
            if exchange is not None:
                keep.append(ffi.new_handle((exchange, size, raised)))
                config.exchange, config.exchange_ctx = lib.coll_py_exchange, keep[-1]
        ret = lib.coll_init(config, self._at)
        if raised and not isinstance(raised[0], Exception):
            raise raised[0]
        try:
            check(ret, "init", details=last_error() if ret else "")
        except Error as e:
            raise e from (raised[0] if raised else None)

    def __enter__(self) -> "Comm":
        return self

    def __exit__(self, kind, value, trace) -> None:
        if kind is not None:
            self._give_up()
        self.finalize()

    def __reduce_ex__(self, protocol):
        raise TypeError("a Comm cannot be copied; see dup()")

    def __del__(self):
        if getattr(self, "_at", [_NONE])[0] != _NONE:
            self._c = self._at[0]
            self._give_up()
            self.finalize()

    def _give_up(self) -> None:
        """This rank does not get to the partners of its calls under way any more.

        finalize() would wait for them: for ever, if they wait for this rank.
        """
        for request, _keep, done in list(self._left):
            if not done[0]:
                lib.coll_cancel(request)
        for call in self._calls.all():
            call._take_back()
        for at, done, _keep in self._calls.lost():
            if not done[0] and at[0] != _NONE:
                lib.coll_cancel(at[0])
        if not ends_soon(self):
            lib.coll_abort(self._c, 1)

    def __repr__(self) -> str:
        if self._c == _NONE:
            return "<coll.Comm, finalized>"
        return f"<coll.Comm, rank {self.rank} of {self.size}>"

    def finalize(self) -> None:
        """Leaves, and frees everything. May be called again.

        Requests are no more afterwards: their calls raise ValueError, unless they were over. If
        other threads do not come out of blocking calls, the communicator is aborted. In a signal
        handler: EDEADLK if that has interrupted a call; nothing has happened then.
        """
        if self._c == _NONE:
            # An exception may have come in the middle of an earlier call.
            self._c = self._at[0]
        if self._c != _NONE:
            for lock in [self._sweeping] + [call._lock for call in self._calls.all()]:
                not_inside(lock, "finalize", self._c)
        with self._sweeping:
            c, self._c = self._c, _NONE
            self._at[0] = _NONE
        if c == _NONE:
            return
        try:
            if not self._calls.threads_leave(GIVEN_UP_WITHIN):
                lib.coll_abort(c, 1)
            self._calls.wait_for_locks()
        except BaseException:
            # By a signal: threads may be in functions of C.
            lib.coll_abort(c, 1)
            with self._sweeping:
                self._c = self._at[0] = c
            raise
        held = [call._forget() for call in self._calls.all()] + list(self._calls.open.values())
        try:
            check(lib.coll_finalize(c), "finalize")
        finally:
            self._freed = True
            held.clear()
            self._calls.open.clear()
            self._left.clear()

    def _leave(self, *entry: Any) -> None:
        """Nobody has this request any more: (request, arrays, int *done).

        The kernel may still write to its arrays.
        """
        if not self._freed:
            self._left.append(entry)

    def _sweep(self) -> None:
        """Lets go of those that nobody has and that are over meanwhile."""
        if not self._left or is_own(self._sweeping) or not self._sweeping.acquire(blocking=False):
            return
        try:
            for _i in range(len(self._left) if self._c != _NONE else 0):
                # An exception may come behind any call, by a signal: the entry stays until then.
                request, _keep, done = self._left[0]
                if not done[0]:
                    lib.coll_test(request, done)
                if done[0]:
                    self._left.popleft()
                else:
                    self._left.rotate(-1)
        finally:
            self._sweeping.release()

    def _lost_are_over(self) -> bool:
        """Are those over that the collector of garbage has found together with this one?"""
        if is_own(self._sweeping):
            return False
        with self._sweeping:
            for at, done, _keep in self._calls.lost():
                if self._c != _NONE and at[0] != _NONE and not done[0]:
                    lib.coll_test(at[0], done)
                    if not done[0]:
                        return False
        return True

    def _check_alive(self) -> None:
        if self._c == _NONE:
            raise ValueError("the communicator has been finalized")

    @property
    def _comm(self):
        self._check_alive()
        return self._c

    @property
    def rank(self) -> int:
        """Rank of this process."""
        self._check_alive()
        return self._rank

    @property
    def size(self) -> int:
        """Ranks in all."""
        self._check_alive()
        return self._size

    @property
    def node(self) -> int:
        """Node of this rank."""
        with self._calls.inside():
            return lib.coll_comm_node(self._comm)

    @property
    def nodes(self) -> int:
        """Nodes in all."""
        with self._calls.inside():
            return lib.coll_comm_nodes(self._comm)

    def node_of(self, rank: int) -> int:
        """Node of another rank.

        >>> comm.node_of(me) == comm.node
        True
        >>> comm.node_of(2)
        Traceback (most recent call last):
            ...
        IndexError: no rank 2
        """
        with self._calls.inside():
            node = lib.coll_comm_node_of(self._comm, rank)
        if node == lib.COLL_RANK_ANY:
            raise IndexError(f"no rank {rank}")
        return node

    def set_timeout(self, seconds: float) -> None:
        """Deadline of later collectives; 0: none. One that passes fails the communicator.

        >>> comm.set_timeout(20)
        """
        with self._calls.inside():
            check(lib.coll_comm_set_timeout(self._comm, int(seconds * 1e9)), "set_timeout")

    def set_algorithm(self, collective: str, name: Optional[str]) -> None:
        """One algorithm for all sizes of a collective, as ("allreduce", "ring"). A collective.

        >>> comm.set_algorithm("allreduce", "ring")
        >>> comm.set_algorithm("allreduce", None)
        """
        what = getattr(lib, "COLL_" + collective.upper(), None)
        if what is None:
            raise ValueError(f"unknown collective {collective!r}")
        name_c = _NONE if name is None else ffi.new("char[]", name.encode())
        with self._calls.inside():
            c = self._comm
            check(lib.coll_comm_set_algorithm(c, what, name_c), "set_algorithm", c)

    def abort(self, code: int = 1) -> None:
        """Ends the communicator on every rank.

        >>> with comm.dup() as other:
        ...     other.abort(7)
        ...     try:
        ...         while True:
        ...             other.barrier()
        ...     except coll.Error as e:
        ...         assert e.errno == errno.ESHUTDOWN and "7" in e.cause
        """
        with self._calls.inside():
            check(lib.coll_abort(self._comm, code), "abort")

    def split(self, color: int, key: int = 0) -> Optional["Comm"]:
        """Communicators of parts of this one, as MPI_Comm_split. None for UNDEFINED.

        >>> with comm.split(me) as alone:
        ...     alone.size
        1
        >>> comm.split(coll.UNDEFINED) is None
        True
        """
        new = _unmade()
        with self._calls.inside():
            c = self._comm
            ret = lib.coll_comm_split(c, color, key, new._at)
            check(ret, "split", c, last_error() if ret else "")
        return None if new._at[0] == _NONE else new._begin(new._at[0])

    def dup(self) -> "Comm":
        """One more with the same ranks.

        >>> with comm.dup() as other:
        ...     other		# doctest: +ELLIPSIS
        <coll.Comm, rank ... of 2>
        """
        new = _unmade()
        with self._calls.inside():
            c = self._comm
            ret = lib.coll_comm_dup(c, new._at)
            check(ret, "dup", c, last_error() if ret else "")
        return new._begin(new._at[0])

    def _call(self, name: str, args: tuple, keep: tuple, result: Any) -> Any:
        self._sweep()
        with self._calls.inside():
            c = self._comm
            check(getattr(lib, "coll_" + name)(c, *args), name, c)
        return result

    def _start(self, name: str, args: tuple, keep: tuple, result: Any) -> Request:
        self._sweep()
        request = Request(self, result, (keep, args), name)
        self._calls.live.add(request)
        self._calls.open[id(request._at)] = request._at, request._done, request._keep
        with request._lock:
            c = self._comm
            check(getattr(lib, "coll_i" + name)(c, *args, request._at), "i" + name, c)
        return request

    # Below, _x() makes the arguments of collective x: (name, arguments of the C function,
    # what has to stay alive, result).

    def _reduction(self, name: str, send: Any, recv: Optional[Array], op: OpCode, *more):
        if send is IN_PLACE:
            array(recv, "recv", write=True)
            return name, (_HERE, pointer(recv), recv.size, dtype_of(recv.dtype), op, *more), \
                (recv,), recv
        array(send, "send")
        if recv is None:
            recv = np.empty_like(send)
        array(recv, "recv", write=True)
        if recv.size != send.size:
            raise ValueError(f"send has {send.size} elements, recv {recv.size}")
        return name, (pointer(send), pointer(recv), send.size, same_type(send, recv), op, *more), \
            (send, recv), recv

    def allreduce(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM) -> Array:
        """Reduces over all ranks, result everywhere. ``send`` may be IN_PLACE.

        >>> comm.allreduce(np.array([me, 10]))
        array([ 1, 20])
        >>> a = np.array([me, 10])
        >>> comm.allreduce(coll.IN_PLACE, a, coll.MAX) is a
        True
        """
        return self._call(*self._reduction("allreduce", send, recv, op))

    def iallreduce(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM) -> Request:
        """As allreduce(), without waiting.

        >>> request = comm.iallreduce(np.array([me, 10]))
        >>> request.wait()
        array([ 1, 20])
        """
        return self._start(*self._reduction("allreduce", send, recv, op))

    def adasum(self, send: Any, recv: Optional[Array] = None,
               counts: Optional[Iterable[int]] = None) -> Array:
        """The adaptive sum of float32 or float64 of all ranks, whose number is a power of 2.

        counts: elements of each tensor in the array; by default it is one tensor.

        >>> comm.adasum(np.array([2.0, 0.0])).tolist()
        [2.0, 0.0]
        >>> comm.adasum(np.array([1.0, me, 1 - me]), counts=[1, 2]).tolist()
        [1.0, 1.0, 1.0]
        """
        name, args, keep, result = self._reduction("adasum", send, recv, SUM)
        numbers = [result.size] if counts is None else [int(c) for c in counts]
        if min(numbers, default=0) < 0 or sum(numbers) != result.size:
            raise ValueError(f"counts do not fit {result.size} elements")
        c = ffi.new("uint64_t[]", numbers)
        return self._call(name, (*args[:2], c, len(numbers), args[3]), (*keep, c), result)

    def scan(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM) -> Array:
        """Result of rank r: the reduction over ranks 0 to r.

        >>> int(comm.scan(np.array([5]))[0]) == 5 * (me + 1)
        True
        """
        return self._call(*self._reduction("scan", send, recv, op))

    def iscan(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM) -> Request:
        """As scan(), without waiting."""
        return self._start(*self._reduction("scan", send, recv, op))

    def exscan(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM) -> Array:
        """Result of rank r: the reduction over ranks 0 to r - 1; that of rank 0 is left alone.

        >>> int(comm.exscan(np.array([5]), np.array([-1]))[0]) == (5 if me else -1)
        True
        """
        return self._call(*self._reduction("exscan", send, recv, op))

    def iexscan(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM) -> Request:
        """As exscan(), without waiting."""
        return self._start(*self._reduction("exscan", send, recv, op))

    def _reduce(self, send: Any, recv: Optional[Array], op: OpCode, root: int):
        if self.rank == root:
            return self._reduction("reduce", send, recv, op, root)
        array(send, "send")
        return "reduce", (pointer(send), _NONE, send.size, dtype_of(send.dtype), op, root), \
            (send,), None

    def reduce(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM,
               root: int = 0) -> Optional[Array]:
        """Reduces over all ranks, result at the root; None elsewhere.

        >>> total = comm.reduce(np.array([me, 10]), root=1)
        >>> total.tolist() == [1, 20] if me == 1 else total is None
        True
        """
        return self._call(*self._reduce(send, recv, op, root))

    def ireduce(self, send: Any, recv: Optional[Array] = None, op: OpCode = SUM,
                root: int = 0) -> Request:
        """As reduce(), without waiting."""
        return self._start(*self._reduce(send, recv, op, root))

    def _broadcast(self, buf: Array, root: int):
        array(buf, "buf", write=self.rank != root)
        return "broadcast", (pointer(buf), buf.size, dtype_of(buf.dtype), root), (buf,), buf

    def broadcast(self, buf: Array, root: int = 0) -> Array:
        """The root's array into everybody's.

        >>> comm.broadcast(np.array([me, me]), root=1)
        array([1, 1])
        """
        return self._call(*self._broadcast(buf, root))

    def ibroadcast(self, buf: Array, root: int = 0) -> Request:
        """As broadcast(), without waiting."""
        return self._start(*self._broadcast(buf, root))

    def barrier(self) -> None:
        """Returns when every rank has called."""
        self._call("barrier", (), (), None)

    def ibarrier(self) -> Request:
        """As barrier(), without waiting."""
        return self._start("barrier", (), (), None)

    def _blocks(self, name: str, send: Any, recv: Optional[Array], shape: Callable, count: Callable,
                *more):
        """One block of equal size for each rank; @shape, @count: of recv and block, from send."""
        if send is IN_PLACE:
            array(recv, "recv", write=True)
            n = count(None, recv)
            return name, (_HERE, pointer(recv), n, dtype_of(recv.dtype), *more), (recv,), recv
        array(send, "send")
        if recv is None:
            recv = np.empty(shape(send), send.dtype)
        array(recv, "recv", write=True)
        n = count(send, recv)
        return name, (pointer(send), pointer(recv), n, same_type(send, recv), *more), \
            (send, recv), recv

    def _part(self, a: Array, what: str) -> int:
        if a.size % self.size:
            raise ValueError(f"{what} has {a.size} elements, not a multiple of {self.size}")
        return a.size // self.size

    def _gathered(self, send: Optional[Array], recv: Array) -> int:
        n = self._part(recv, "recv")
        if send is not None and send.size != n:
            raise ValueError(f"send has {send.size} elements, a block of recv {n}")
        return n

    def _allgather(self, send: Any, recv: Optional[Array]):
        return self._blocks("allgather", send, recv, lambda a: (self.size, *a.shape),
                            self._gathered)

    def allgather(self, send: Any, recv: Optional[Array] = None) -> Array:
        """Block r of the result is ``send`` of rank r. A result made here has shape (size, ...).

        >>> comm.allgather(np.array([me, 7]))
        array([[0, 7],
               [1, 7]])
        """
        return self._call(*self._allgather(send, recv))

    def iallgather(self, send: Any, recv: Optional[Array] = None) -> Request:
        """As allgather(), without waiting."""
        return self._start(*self._allgather(send, recv))

    def _gather(self, send: Any, recv: Optional[Array], root: int):
        if self.rank == root:
            return self._blocks("gather", send, recv, lambda a: (self.size, *a.shape),
                                self._gathered, root)
        array(send, "send")
        return "gather", (pointer(send), _NONE, send.size, dtype_of(send.dtype), root), (send,), \
            None

    def gather(self, send: Any, recv: Optional[Array] = None, root: int = 0) -> Optional[Array]:
        """As allgather(), with the result at the root; None elsewhere.

        >>> both = comm.gather(np.array([me, 7]))
        >>> both.tolist() == [[0, 7], [1, 7]] if me == 0 else both is None
        True
        """
        return self._call(*self._gather(send, recv, root))

    def igather(self, send: Any, recv: Optional[Array] = None, root: int = 0) -> Request:
        """As gather(), without waiting."""
        return self._start(*self._gather(send, recv, root))

    def _scatter(self, send: Optional[Array], recv: Any, root: int):
        if self.rank != root:
            array(recv, "recv", write=True)
            return "scatter", (_NONE, pointer(recv), recv.size, dtype_of(recv.dtype), root), \
                (recv,), recv
        array(send, "send")
        n = self._part(send, "send")
        if recv is None:
            recv = np.empty(send.shape[1:] if send.shape[:1] == (self.size,) else n, send.dtype)
        array(recv, "recv", write=True)
        if recv.size != n:
            raise ValueError(f"recv has {recv.size} elements, a block of send {n}")
        return "scatter", (pointer(send), pointer(recv), n, same_type(send, recv), root), \
            (send, recv), recv

    def scatter(self, send: Optional[Array], recv: Optional[Array] = None, root: int = 0) -> Array:
        """Rank r gets block r of the root's ``send``. Other ranks need ``recv``.

        >>> blocks = np.array([[1, 2], [3, 4]]) if me == 0 else None
        >>> comm.scatter(blocks, np.empty(2, int)).tolist() == [[1, 2], [3, 4]][me]
        True
        """
        return self._call(*self._scatter(send, recv, root))

    def iscatter(self, send: Optional[Array], recv: Optional[Array] = None,
                 root: int = 0) -> Request:
        """As scatter(), without waiting."""
        return self._start(*self._scatter(send, recv, root))

    def _exchanged(self, send: Optional[Array], recv: Array) -> int:
        if send is not None and send.size != recv.size:
            raise ValueError(f"send has {send.size} elements, recv {recv.size}")
        return self._part(recv, "recv")

    def _alltoall(self, send: Any, recv: Optional[Array]):
        return self._blocks("alltoall", send, recv, lambda a: a.shape, self._exchanged)

    def alltoall(self, send: Any, recv: Optional[Array] = None) -> Array:
        """Block r of the result is block (this rank) of ``send`` of rank r.

        >>> comm.alltoall(np.array([10 * me, 10 * me + 1])).tolist() == [me, 10 + me]
        True
        """
        return self._call(*self._alltoall(send, recv))

    def ialltoall(self, send: Any, recv: Optional[Array] = None) -> Request:
        """As alltoall(), without waiting."""
        return self._start(*self._alltoall(send, recv))

    def _alltoallv(self, send: Array, counts: Iterable[int], recv_counts: Iterable[int],
                   recv: Optional[Array], displs: Optional[Iterable[int]],
                   recv_displs: Optional[Iterable[int]]):
        counts, recv_counts = whole(counts), whole(recv_counts)
        displs = None if displs is None else list(displs)
        recv_displs = None if recv_displs is None else list(recv_displs)
        array(send, "send")
        if recv is None:
            recv = np.empty(sum(recv_counts), send.dtype)
        array(recv, "recv", write=True)
        _, _, give = self._layout(counts, displs, send.size, "send")
        _, _, get = self._layout(recv_counts, recv_displs, recv.size, "recv")
        c, d = ffi.new("uint64_t[]", give + get), _NONE
        if displs is not None or recv_displs is not None:
            d = ffi.new("uint64_t[]", list(_starts(give, displs)) + list(_starts(get, recv_displs)))
        return "alltoallv", (pointer(send), pointer(recv), c, d, same_type(send, recv)), \
            (send, recv, c, d), recv

    def alltoallv(self, send: Array, counts: Iterable[int], recv_counts: Iterable[int],
                  recv: Optional[Array] = None, displs: Optional[Iterable[int]] = None,
                  recv_displs: Optional[Iterable[int]] = None) -> Array:
        """As alltoall(), with counts[r] elements for rank r and recv_counts[r] from it.

        >>> comm.alltoallv(np.array([me, 8, 9]), [1, 2], [me + 1] * 2).tolist() == (
        ...     [8, 9, 8, 9] if me else [0, 1])
        True
        """
        return self._call(*self._alltoallv(send, counts, recv_counts, recv, displs, recv_displs))

    def ialltoallv(self, send: Array, counts: Iterable[int], recv_counts: Iterable[int],
                   recv: Optional[Array] = None, displs: Optional[Iterable[int]] = None,
                   recv_displs: Optional[Iterable[int]] = None) -> Request:
        """As alltoallv(), without waiting."""
        return self._start(*self._alltoallv(send, counts, recv_counts, recv, displs, recv_displs))

    def _reduce_scatter_block(self, send: Array, recv: Optional[Array], op: OpCode):
        array(send, "send")
        n = self._part(send, "send")
        if recv is None:
            recv = np.empty(send.shape[1:] if send.shape[:1] == (self.size,) else n, send.dtype)
        array(recv, "recv", write=True)
        if recv.size != n:
            raise ValueError(f"recv has {recv.size} elements, a block of send {n}")
        return "reduce_scatter_block", (pointer(send), pointer(recv), n, same_type(send, recv),
                                        op), (send, recv), recv

    def reduce_scatter_block(self, send: Array, recv: Optional[Array] = None,
                             op: OpCode = SUM) -> Array:
        """Rank r gets block r of the reduction over all ranks.

        >>> comm.reduce_scatter_block(np.array([1, 2])).tolist() == 2 * (me + 1)
        True
        """
        return self._call(*self._reduce_scatter_block(send, recv, op))

    def ireduce_scatter_block(self, send: Array, recv: Optional[Array] = None,
                              op: OpCode = SUM) -> Request:
        """As reduce_scatter_block(), without waiting."""
        return self._start(*self._reduce_scatter_block(send, recv, op))

    def _reduce_scatter(self, send: Array, counts: Iterable[int], recv: Optional[Array],
                        op: OpCode):
        c, numbers = counts_of(counts, self.size)
        array(send, "send")
        if recv is None:
            recv = np.empty(numbers[self.rank], send.dtype)
        array(recv, "recv", write=True)
        if send.size != sum(numbers) or recv.size != numbers[self.rank]:
            raise ValueError("counts do not fit the arrays")
        return "reduce_scatter", (pointer(send), pointer(recv), c, same_type(send, recv), op), \
            (send, recv, c), recv

    def reduce_scatter(self, send: Array, counts: Iterable[int], recv: Optional[Array] = None,
                       op: OpCode = SUM) -> Array:
        """As reduce_scatter_block(), with a block of counts[r] elements for rank r.

        >>> block = comm.reduce_scatter(np.array([1, 2, 3]), [1, 2])
        >>> block.tolist() == ([4, 6] if me else [2])
        True
        """
        return self._call(*self._reduce_scatter(send, counts, recv, op))

    def ireduce_scatter(self, send: Array, counts: Iterable[int], recv: Optional[Array] = None,
                        op: OpCode = SUM) -> Request:
        """As reduce_scatter(), without waiting."""
        return self._start(*self._reduce_scatter(send, counts, recv, op))

    def _layout(self, counts: Iterable[int], displs: Optional[Iterable[int]], room: int,
                what: str) -> Tuple[Any, Any, list]:
        """Counts and displacements for C, inside of an array of @room elements."""
        c, numbers = counts_of(counts, self.size)
        d = _offsets(displs, self.size)
        ends = [d[i] + n for i, n in enumerate(numbers) if n] if displs is not None else \
            [sum(numbers)]
        if max(ends, default=0) > room:
            raise ValueError(f"blocks end beyond {what}, which has {room} elements")
        return c, d, numbers

    def _allgatherv(self, send: Any, counts: Iterable[int], recv: Optional[Array],
                    displs: Optional[Iterable[int]]):
        counts = whole(counts)
        if send is not IN_PLACE:
            array(send, "send")
            if recv is None:
                recv = np.empty(sum(counts), send.dtype)
        array(recv, "recv", write=True)
        c, d, numbers = self._layout(counts, displs, recv.size, "recv")
        if send is IN_PLACE:
            return "allgatherv", (_HERE, pointer(recv), c, d, dtype_of(recv.dtype)), \
                (recv, c, d), recv
        if send.size != numbers[self.rank]:
            raise ValueError("counts do not fit send")
        return "allgatherv", (pointer(send), pointer(recv), c, d, same_type(send, recv)), \
            (send, recv, c, d), recv

    def allgatherv(self, send: Any, counts: Iterable[int], recv: Optional[Array] = None,
                   displs: Optional[Iterable[int]] = None) -> Array:
        """As allgather(), with counts[r] elements of rank r, at displs[r] of the result.

        >>> comm.allgatherv(np.full(me + 1, me), [1, 2])
        array([0, 1, 1])
        """
        return self._call(*self._allgatherv(send, counts, recv, displs))

    def iallgatherv(self, send: Any, counts: Iterable[int], recv: Optional[Array] = None,
                    displs: Optional[Iterable[int]] = None) -> Request:
        """As allgatherv(), without waiting."""
        return self._start(*self._allgatherv(send, counts, recv, displs))

    def _gatherv(self, send: Array, counts: Optional[Iterable[int]], recv: Optional[Array],
                 displs: Optional[Iterable[int]], root: int):
        array(send, "send")
        if self.rank != root:
            return "gatherv", (pointer(send), send.size, _NONE, _NONE, _NONE,
                               dtype_of(send.dtype), root), (send,), None
        # An array of numpy has no truth value.
        counts = () if counts is None else whole(counts)
        if recv is None:
            recv = np.empty(sum(counts), send.dtype)
        array(recv, "recv", write=True)
        c, d, numbers = self._layout(counts, displs, recv.size, "recv")
        if send.size != numbers[self.rank]:
            raise ValueError("counts do not fit send")
        return "gatherv", (pointer(send), send.size, pointer(recv), c, d,
                           same_type(send, recv), root), (send, recv, c, d), recv

    def gatherv(self, send: Array, counts: Optional[Iterable[int]] = None,
                recv: Optional[Array] = None, displs: Optional[Iterable[int]] = None,
                root: int = 0) -> Optional[Array]:
        """As gather(), with counts[r] elements of rank r. Only the root needs ``counts``.

        >>> joined = comm.gatherv(np.full(me + 1, me), [1, 2])
        >>> joined.tolist() == [0, 1, 1] if me == 0 else joined is None
        True
        """
        return self._call(*self._gatherv(send, counts, recv, displs, root))

    def igatherv(self, send: Array, counts: Optional[Iterable[int]] = None,
                 recv: Optional[Array] = None, displs: Optional[Iterable[int]] = None,
                 root: int = 0) -> Request:
        """As gatherv(), without waiting."""
        return self._start(*self._gatherv(send, counts, recv, displs, root))

    def _scatterv(self, send: Optional[Array], recv: Array, counts: Optional[Iterable[int]],
                  displs: Optional[Iterable[int]], root: int):
        array(recv, "recv", write=True)
        if self.rank != root:
            return "scatterv", (_NONE, _NONE, _NONE, pointer(recv), recv.size,
                                dtype_of(recv.dtype), root), (recv,), recv
        array(send, "send")
        # An array of numpy has no truth value.
        counts = () if counts is None else whole(counts)
        c, d, numbers = self._layout(counts, displs, send.size, "send")
        if recv.size != numbers[self.rank]:
            raise ValueError("counts do not fit recv")
        return "scatterv", (pointer(send), c, d, pointer(recv), recv.size,
                            same_type(send, recv), root), (send, recv, c, d), recv

    def scatterv(self, send: Optional[Array], recv: Array,
                 counts: Optional[Iterable[int]] = None,
                 displs: Optional[Iterable[int]] = None, root: int = 0) -> Array:
        """As scatter(), with counts[r] elements for rank r. Only the root needs ``counts``.

        >>> part = comm.scatterv(np.array([1, 2, 3]), np.empty(me + 1, int), [1, 2])
        >>> part.tolist() == ([2, 3] if me else [1])
        True
        """
        return self._call(*self._scatterv(send, recv, counts, displs, root))

    def iscatterv(self, send: Optional[Array], recv: Array,
                  counts: Optional[Iterable[int]] = None,
                  displs: Optional[Iterable[int]] = None, root: int = 0) -> Request:
        """As scatterv(), without waiting."""
        return self._start(*self._scatterv(send, recv, counts, displs, root))


def init(**config) -> Comm:
    """The same as Comm()."""
    return Comm(**config)


def borrowed(c: Any, calls: Calls) -> Comm:
    """A Comm that makes the arguments of collectives, and does not own the communicator."""
    comm = _unmade()
    comm._calls = calls
    return comm._begin(c)
