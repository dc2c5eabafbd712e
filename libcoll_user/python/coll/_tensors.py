# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Named tensors: collectives that each rank posts in an order of its own."""
import collections
import errno
import threading
from typing import Any, Iterable, List, Optional

import numpy as np

from ._coll import ffi, lib
from ._comm import GIVEN_UP_WITHIN, Array, Comm, OpCode, borrowed, ends_soon
from ._error import Error, check
from ._request import Calls, is_own, not_inside, watch_forks
from ._types import SUM, dtype_of

# A wait looks so often whether the communicator is still there, and lets signals in.
_SLICE_NS = 50_000_000

_DIMS = lib.COLL_TENSOR_DIMS

# By name: numpy has no bfloat16 of its own.
_WIRES = {"float16": lib.COLL_F16, "bfloat16": lib.COLL_BF16}


def _wire_of(wire: Any) -> int:
    if wire is None:
        return 0
    found = _WIRES.get(wire) if isinstance(wire, str) else None
    return found or dtype_of(np.dtype(wire))


def _check(ret: int, what: str, comm: Any = ffi.NULL) -> None:
    """Raises Error unless @ret is 0. The text of the library is that of this thread's last call."""
    if ret:
        text = ffi.string(lib.coll_tensor_error()).decode(errors="replace")
        check(ret, what, comm, text)


class Tensor:
    """A named tensor of a Tensors. Its arrays belong to the kernel while it is posted.

    It may be posted again when it is over: then its arrays are used again. Several threads may use
    one. If a program drops a tensor that is posted, its arrays stay until it is over. In a signal
    handler wait() fails with EDEADLK if that has interrupted a wait() for the same tensor.
    """

    def __init__(self, tensors: "Tensors", name: str, keep: tuple, result: Any) -> None:
        self._ts = tensors
        self._name = name
        self._keep = keep
        self._result = result
        self._error: Optional[Exception] = None
        self._posted = False
        self._ever_posted = False
        # Held by the thread that is in a function of C with the tensor.
        self._lock: Any = threading.RLock()
        self._done = ffi.new("int *")
        self._at = ffi.new("coll_tensor_t **")

    def __reduce_ex__(self, protocol):
        raise TypeError("a Tensor cannot be copied")

    def __del__(self):
        at = getattr(self, "_at", None)
        if at is not None and at[0] != ffi.NULL:
            self._ts._leave(at[0], self._keep)
        if at is not None:
            self._ts._calls.open.pop(id(at), None)

    @property
    def name(self) -> str:
        """Its name, by which ranks find each other.

        >>> tensors.barrier("start", post=False).name
        'start'
        """
        return self._name

    def post(self) -> "Tensor":
        """Posts it, and does not wait.

        >>> a = np.ones(3)
        >>> t = tensors.allreduce("again", coll.IN_PLACE, a, post=False)
        >>> [t.post().wait()[0] for step in range(3)]
        [2.0, 4.0, 8.0]
        """
        self._ts.post([self])
        return self

    def _step(self, ns: int) -> bool:
        """Looks, for so many nanoseconds. The lock is held. Is it over?"""
        if not self._posted:
            return True
        self._ts._check_alive()
        # An exception came behind this call, and nobody knows what it returned.
        lost = self._done[0]
        ret = -errno.EINTR if lost else lib.coll_tensor_wait_for(self._at[0], ns, self._done)
        if self._done[0]:
            self._error = self._error_of(ret, lost)
            self._posted = False
            self._ts._calls.open.pop(id(self._at), None)
        return not self._posted

    def _error_of(self, ret: int, lost: int) -> Optional[Error]:
        what = f"tensor {self._name!r}"
        try:
            if lost:
                check(ret, what, self._ts._c)
            _check(ret, what, self._ts._c)
        except Error as e:
            return e.with_traceback(None)
        return None

    def _answer(self) -> Any:
        if self._error is not None:
            raise self._error
        if not self._ever_posted:
            raise ValueError(f"tensor {self._name!r} has not been posted")
        return self._result

    def wait(self) -> Any:
        """Waits for the end of what was posted. Returns the array with the result.

        >>> tensors.allreduce("sum", np.array([me, 10])).wait()
        array([ 1, 20])
        """
        over = False
        not_inside(self._lock, f"tensor {self._name!r}", self._ts._c)
        while not over:
            with self._lock:
                over = self._step(_SLICE_NS)
        return self._answer()

    def test(self) -> bool:
        """Is it over? Raises Error if it has failed.

        >>> t = tensors.barrier("b")
        >>> while not t.test():
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

    def _forget(self) -> tuple:
        """The library frees it. Returns what has to stay until then."""
        with self._lock:
            self._at[0] = ffi.NULL
            if self._posted:
                self._posted = False
                self._error = ValueError("the communicator has been finalized")
            return self._keep


class Tensors:
    """A communicator for named tensors, with the ranks of @comm. A collective of @comm.

    A tensor starts when all ranks have posted its name, whatever their orders. Small ones are
    fused. Usable in a ``with`` statement, which ends it; an exception there also ends tensors that
    are pending, on all ranks. See Documentation/tensors.rst.

    >>> with coll.Tensors(comm) as other:
    ...     names = ["a", "b"] if me else ["b", "a"]
    ...     both = {name: other.allreduce(name, np.full(2, len(name))) for name in names}
    ...     both["a"].wait(), both["b"].wait()
    (array([2, 2]), array([2, 2]))
    """

    def __init__(self, comm: Comm) -> None:
        self._make_by("Tensors", comm, lib.coll_tensors_create, 0)
        self._begin()

    def _make_by(self, what: str, comm: Comm, make: Any, *args: Any) -> None:
        """By the C function @make, a collective of @comm."""
        # As Comm._at
        self._at = ffi.new("coll_tensors_t **")
        self._ts = ffi.NULL
        # coll_tensors_finalize() has returned.
        self._freed = False
        self._left: Any = collections.deque()
        self._calls = Calls()
        # By id: done of each join() that a thread is in.
        self._joins: Any = {}
        self._sweeping: Any = threading.RLock()
        watch_forks(self)
        with comm._calls.inside():
            c = comm._comm
            _check(make(c, *args, self._at), what, c)

    def _begin(self) -> None:
        self._c = lib.coll_tensors_comm(self._at[0])
        self._args = borrowed(self._c, self._calls)
        self._ts = self._at[0]

    @staticmethod
    def _of(what: str, comm: Comm, make: Any, *args: Any) -> Any:
        """A new one by the C function @make; None: it made none."""
        new = Tensors.__new__(Tensors)
        new._make_by(what, comm, make, *args)
        if new._at[0] == ffi.NULL:
            return None
        new._begin()
        return new

    @staticmethod
    def split(comm: Comm, color: int, key: int = 0) -> Optional["Tensors"]:
        """For parts of @comm, as Comm.split(). None for UNDEFINED.

        >>> with coll.Tensors.split(comm, me) as alone:
        ...     alone.size
        1
        """
        return Tensors._of("split", comm, lib.coll_tensors_split, color, key, 0)

    @staticmethod
    def local(comm: Comm) -> "Tensors":
        """For the ranks of this node.

        >>> with coll.Tensors.local(comm) as local:
        ...     local.nodes
        1
        """
        return Tensors._of("local", comm, lib.coll_tensors_local, 0)

    @staticmethod
    def cross(comm: Comm) -> "Tensors":
        """For ranks that have equal places on their nodes.

        >>> with coll.Tensors.cross(comm) as cross:
        ...     cross.size == comm.nodes
        True
        """
        return Tensors._of("cross", comm, lib.coll_tensors_cross, 0)

    def __enter__(self) -> "Tensors":
        return self

    def __exit__(self, kind, value, trace) -> None:
        if kind is not None:
            self._give_up()
        self.finalize()

    def __del__(self):
        if getattr(self, "_at", [ffi.NULL])[0] != ffi.NULL:
            if self._ts == ffi.NULL:
                self._begin()
            self._give_up()
            self.finalize()

    def _give_up(self) -> None:
        """This rank posts no more, and finalize() would wait for what others do not post.

        As Comm._give_up().
        """
        if not ends_soon(self):
            lib.coll_tensors_abort(self._ts, 1)

    def __repr__(self) -> str:
        if self._ts == ffi.NULL:
            return "<coll.Tensors, finalized>"
        return f"<coll.Tensors, rank {self.rank} of {self.size}>"

    def finalize(self) -> None:
        """Waits for all tensors that this rank has posted, and frees everything.

        May be called again. Tensors that only other ranks have posted fail there. If other threads
        do not come out of blocking calls, all pending tensors are aborted, on all ranks. In a signal
        handler: EDEADLK if that has interrupted a call; nothing has happened then.
        """
        if self._ts == ffi.NULL and self._at[0] != ffi.NULL:
            # An exception may have come in the middle of an earlier call.
            self._begin()
        if self._ts != ffi.NULL:
            for lock in [self._sweeping] + [call._lock for call in self._calls.all()]:
                not_inside(lock, "finalize", self._c)
        with self._sweeping:
            ts, self._ts = self._ts, ffi.NULL
            self._at[0] = ffi.NULL
        if ts == ffi.NULL:
            return
        c, self._args._c, self._c = self._c, ffi.NULL, ffi.NULL
        try:
            # A thread leaves join() soon, but the join stays pending, perhaps for ever.
            joins = list(self._joins.values())
            if not self._calls.threads_leave(GIVEN_UP_WITHIN) or not all(d[0] for d in joins):
                lib.coll_tensors_abort(ts, 1)
            self._calls.wait_for_locks()
        except BaseException:
            # As in Comm.finalize().
            lib.coll_tensors_abort(ts, 1)
            with self._sweeping:
                self._ts, self._args._c, self._c = ts, c, c
                self._at[0] = ts
            raise
        held = [call._forget() for call in self._calls.all()] + list(self._calls.open.values())
        try:
            _check(lib.coll_tensors_finalize(ts), "finalize")
        finally:
            self._freed = True
            held.clear()
            self._calls.open.clear()
            self._left.clear()

    def _lost_are_over(self) -> bool:
        """As Comm._lost_are_over()."""
        if is_own(self._sweeping):
            return False
        with self._sweeping:
            for at, done, _keep in self._calls.lost():
                if self._ts != ffi.NULL and at[0] != ffi.NULL and not done[0]:
                    lib.coll_tensor_test(at[0], done)
                    if not done[0]:
                        return False
        return True

    def _check_alive(self) -> None:
        if self._ts == ffi.NULL:
            raise ValueError("the communicator has been finalized")

    def _leave(self, t: Any, keep: tuple) -> None:
        """The program has dropped this tensor. The kernel may still write to its arrays."""
        if not self._freed and not self._free_now(t):
            self._left.append((t, keep, ffi.new("int *"), True))

    def _free_now(self, t: Any) -> bool:
        """Frees it, unless it is posted. Once finalize() has begun, that frees all."""
        if is_own(self._sweeping) or not self._sweeping.acquire(blocking=False):
            return False
        try:
            return self._ts != ffi.NULL and not lib.coll_tensor_free(t)
        finally:
            self._sweeping.release()

    def _sweep(self) -> None:
        """Frees dropped tensors that are over."""
        if not self._left or is_own(self._sweeping) or not self._sweeping.acquire(blocking=False):
            return
        try:
            for _i in range(len(self._left) if self._ts != ffi.NULL else 0):
                t, _keep, done, made = self._left[0]
                if not done[0]:
                    lib.coll_tensor_test(t, done)
                if done[0]:
                    # An exception may come behind any call, by a signal: free it once.
                    self._left.popleft()
                    # A join has been freed with its result.
                    if made:
                        lib.coll_tensor_free(t)
                else:
                    self._left.rotate(-1)
        finally:
            self._sweeping.release()

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return self._args.rank

    @property
    def size(self) -> int:
        """Ranks in all."""
        return self._args.size

    @property
    def nodes(self) -> int:
        """Nodes in all."""
        return self._args.nodes

    def set_timeout(self, seconds: float) -> None:
        """Deadline of tensors that are made later; 0: none.

        A tensor that not all ranks have posted by then ends with ETIMEDOUT, and the communicator
        goes on.

        >>> tensors.set_timeout(20)
        """
        self._args.set_timeout(seconds)

    def abort(self, code: int = 1) -> None:
        """Ends all pending tensors of all ranks.

        >>> with coll.Tensors(comm) as other:
        ...     other.abort(7)
        ...     try:
        ...         other.barrier("b").wait()
        ...     except coll.Error as e:
        ...         assert e.errno == errno.ESHUTDOWN
        """
        with self._calls.inside():
            self._check_alive()
            _check(lib.coll_tensors_abort(self._ts, code), "abort")

    def join(self) -> int:
        """This rank has no more tensors: waits until no rank has. Returns the last one to join.

        Until then it counts as if it had posted everything, and contributes nothing.

        >>> tensors.join() in (0, 1)
        True
        """
        last, t, done = ffi.new("uint32_t *"), ffi.new("coll_tensor_t **"), ffi.new("int *")
        self._joins[id(t)] = done
        try:
            with self._calls.inside():
                self._check_alive()
                _check(lib.coll_tensors_ijoin(self._ts, last, ffi.NULL, ffi.NULL, t), "join",
                       self._c)
            while not done[0]:
                with self._calls.inside():
                    self._check_alive()
                    ret = lib.coll_tensor_wait_for(t[0], _SLICE_NS, done)
                    if done[0]:
                        _check(ret, "join", self._c)
        finally:
            if t[0] != ffi.NULL and not done[0]:
                # An exception: the number may still be written.
                self._left.append((t[0], (last, t), done, False))
            self._joins.pop(id(t), None)
        return last[0]

    def post(self, tensors: Iterable[Tensor], group: bool = False) -> None:
        """Posts many in one system call.

        ``group``: they start together or not at all: if one of them fails before, so do the others.
        All ranks post a group in one call, each in an order of its own.

        >>> all = [tensors.allreduce(f"g{i}", np.array([i]), post=False) for i in range(3)]
        >>> tensors.post(all[::-1] if me else all, group=True)
        >>> [int(t.wait()[0]) for t in all]
        [0, 2, 4]
        """
        self._check_alive()
        self._sweep()
        several = list(tensors)
        if not several:
            return
        if any(t._ts is not self for t in several):
            raise ValueError("a tensor of another communicator")
        posted = ffi.new("size_t *")
        call = lib.coll_tensor_postgroup if group else lib.coll_tensor_postall
        with self._calls.inside():
            self._check_alive()
            try:
                ret = call([t._at[0] for t in several], len(several), posted)
            finally:
                for t in several[:posted[0]]:
                    t._done[0] = 0
                    t._posted = t._ever_posted = True
                    self._calls.open[id(t._at)] = t._at, t._done, t._keep
            _check(ret, "post", self._c)

    def _make(self, name: str, collective: tuple, shape: tuple, post: bool, priority: int = 0,
              prescale: float = 1, postscale: float = 1, wire: Any = None,
              present: bool = False) -> Tensor:
        """A tensor from the arguments that a collective of Comm has, see there."""
        what, args, keep, result = collective
        spec = ffi.new("struct coll_tensor_spec *")
        text = ffi.new("char[]", name.encode())
        spec.struct_size = ffi.sizeof("struct coll_tensor_spec")
        spec.name = text
        with self._calls.inside():
            self._check_alive()
            getattr(lib, "coll_cmd_" + what)(self._c, ffi.addressof(spec, "cmd"), *args)
        if 0 < len(shape) <= _DIMS:
            spec.ndim = len(shape)
            spec.dims[0:len(shape)] = list(shape)
        spec.priority = priority
        spec.prescale, spec.postscale = prescale, postscale
        spec.flags = lib.COLL_TENSOR_AVG_PRESENT if present else 0
        spec.wire = _wire_of(wire)
        t = Tensor(self, name, (keep, args), result)
        with self._calls.inside():
            self._check_alive()
            _check(lib.coll_tensor_create(self._ts, spec, t._at), what, self._c)
        self._calls.live.add(t)
        return t.post() if post else t

    def allreduce(self, name: str, send: Any, recv: Optional[Array] = None, op: OpCode = SUM, *,
                  priority: int = 0, prescale: float = 1, postscale: float = 1, wire: Any = None,
                  present: bool = False, post: bool = True) -> Tensor:
        """As Comm.allreduce(), by name.

        ``priority``: of the tensors that all ranks have posted, higher ones start first.
        ``prescale``, ``postscale``: factors of inputs and of results. ``wire``: the type of float32
        between nodes, "float16" or "bfloat16". ``present``: AVG divides by the number of ranks that
        have not joined. ``post=False``: only makes it, for Tensor.post() and post().

        >>> tensors.allreduce("mean", np.array([me, 3.0]), op=coll.AVG).wait()
        array([0.5, 3. ])
        """
        made = self._args._reduction("allreduce", send, recv, op)
        return self._make(name, made, made[3].shape, post, priority, prescale, postscale, wire,
                          present)

    def broadcast(self, name: str, buf: Array, root: int = 0, *, priority: int = 0,
                  post: bool = True) -> Tensor:
        """As Comm.broadcast(), by name.

        >>> tensors.broadcast("weights", np.array([me, me]), root=1).wait()
        array([1, 1])
        """
        return self._make(name, self._args._broadcast(buf, root), buf.shape, post, priority)

    def allgather(self, name: str, send: Any, recv: Optional[Array] = None, *, priority: int = 0,
                  post: bool = True) -> Tensor:
        """As Comm.allgather(), by name.

        >>> tensors.allgather("ids", np.array([me, 7])).wait()
        array([[0, 7],
               [1, 7]])
        """
        return self._make(name, self._args._allgather(send, recv), (), post, priority)

    def allgatherv(self, name: str, send: Any, counts: Iterable[int],
                   recv: Optional[Array] = None, displs: Optional[Iterable[int]] = None, *,
                   priority: int = 0, post: bool = True) -> Tensor:
        """As Comm.allgatherv(), by name: rank r contributes counts[r] elements.

        >>> tensors.allgatherv("some", np.full(me + 1, me), [1, 2]).wait()
        array([0, 1, 1])
        """
        return self._make(name, self._args._allgatherv(send, counts, recv, displs), (), post,
                          priority)

    def alltoall(self, name: str, send: Any, recv: Optional[Array] = None, *, priority: int = 0,
                 post: bool = True) -> Tensor:
        """As Comm.alltoall(), by name.

        >>> tensors.alltoall("swap", np.array([10 * me, 10 * me + 1])).wait().tolist() == [me, 10 + me]
        True
        """
        return self._make(name, self._args._alltoall(send, recv), (), post, priority)

    def reduce_scatter(self, name: str, send: Array, counts: Iterable[int],
                       recv: Optional[Array] = None, op: OpCode = SUM, *, priority: int = 0,
                       post: bool = True) -> Tensor:
        """As Comm.reduce_scatter(), by name.

        >>> block = tensors.reduce_scatter("parts", np.array([1, 2, 3]), [1, 2]).wait()
        >>> block.tolist() == ([4, 6] if me else [2])
        True
        """
        return self._make(name, self._args._reduce_scatter(send, counts, recv, op), (), post,
                          priority)

    def reduce_scatter_block(self, name: str, send: Array, recv: Optional[Array] = None,
                             op: OpCode = SUM, *, priority: int = 0, post: bool = True) -> Tensor:
        """As Comm.reduce_scatter_block(), by name.

        >>> tensors.reduce_scatter_block("blocks", np.array([1, 2])).wait().tolist() == 2 * (me + 1)
        True
        """
        return self._make(name, self._args._reduce_scatter_block(send, recv, op), (), post,
                          priority)

    def barrier(self, name: str, *, priority: int = 0, post: bool = True) -> Tensor:
        """As Comm.barrier(), by name.

        >>> tensors.barrier("end of epoch").wait()
        """
        return self._make(name, ("barrier", (), (), None), (), post, priority)

    def wait(self, tensors: Iterable[Tensor]) -> List[Any]:
        """The results of all of them, when they are there.

        >>> tensors.wait([tensors.barrier("x"), tensors.allreduce("y", np.array([me]))])
        [None, array([1])]
        """
        return [t.wait() for t in tensors]
