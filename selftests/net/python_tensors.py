#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A rank that uses named tensors from Python, in random orders, and compares with numpy.

Orders come from COLL_TEST_SEED. Prints what is wrong; status 0, or 1.
"""
import copy
import errno
import gc
import os
import random
import signal
import sys
import threading
import time
import weakref

import numpy as np

import coll

SEED = int(os.environ.get("COLL_TEST_SEED", "1"), 0)
NAMES = 60
wrong = 0


def ok(what, good):
    global wrong
    if not good:
        print(f"rank {comm.rank}: {what}")
        wrong += 1


def raises(what, kind, call, number=None, text=""):
    try:
        call()
    except kind as e:
        ok(f"{what}: {e!r}", (number is None or e.errno == number) and text in str(e))
    else:
        ok(f"{what}: no exception", False)


def value(rank, i):
    """Input of a rank for tensor i."""
    return np.arange(i + 1, dtype="float64") + 100 * rank + i


def sum_of(i):
    return sum(value(r, i) for r in range(comm.size))


def any_order():
    """Each rank posts all of them in an order of its own, one by one, then in one call."""
    order = list(range(NAMES))
    random.Random(SEED * 1000 + comm.rank).shuffle(order)
    made = {i: ts.allreduce(f"t{i}", value(comm.rank, i)) for i in order}
    for i, t in sorted(made.items(), reverse=comm.rank % 2 == 0):
        ok(f"tensor {i}", np.array_equal(t.wait(), sum_of(i)))
        ok(f"tensor {i} again", t.test() and np.array_equal(t.wait(), sum_of(i)))
    for i, t in made.items():
        t.wait()[:] = 0
    ts.post(made[i] for i in order)
    for i, got in enumerate(ts.wait(made[i] for i in range(NAMES))):
        ok(f"tensor {i} in one call", np.array_equal(got, sum_of(i)))


def factors():
    a = np.full(3, 2.0, "float32")
    n = comm.size
    ok("factors", np.array_equal(ts.allreduce("f", a, prescale=3, postscale=0.5).wait(), 3.0 * n * np.ones(3)))
    for wire in "float16", "bfloat16", np.float16, np.dtype("float16"):
        got = ts.allreduce(f"w {wire}", a, wire=wire, priority=7).wait()
        ok(f"a smaller type, {wire}: {got}", np.array_equal(got, n * a))
    raises("bytes that are not", coll.Error, lambda: ts.allreduce("w8", a, wire="int8"), errno.EINVAL)


def mismatches():
    n = comm.size
    count = 3 + (comm.rank == n - 1)
    t = ts.allreduce("uneven", np.zeros(count))
    if n > 1:
        raises("other shapes", coll.Error, t.wait, errno.EBADE, "dimension 0")
        raises("the same error again", coll.Error, t.test, errno.EBADE, "'uneven'")
    else:
        t.wait()
    ok("the communicator goes on", ts.barrier("after").wait() is None)
    twice = ts.barrier("twice", post=False)
    if comm.rank == 0 and n > 1:
        twice.post()
        raises("a name that is pending", coll.Error, lambda: ts.barrier("twice"), errno.EEXIST)
        raises("a tensor that is posted", coll.Error, twice.post, errno.EBUSY)
        comm.barrier()
    else:
        comm.barrier() if n > 1 else None
        twice.post()
    twice.wait()
    raises("a name without letters", coll.Error, lambda: ts.barrier(""), errno.EINVAL)
    raises("a name that is too long", coll.Error, lambda: ts.barrier("x" * 300), errno.EINVAL)
    raises("a list", TypeError, lambda: ts.allreduce("l", [1]))
    raises("a tensor that was never posted", ValueError, ts.barrier("never", post=False).wait)
    raises("a copy", TypeError, lambda: copy.copy(ts.barrier("copied", post=False)))


def groups():
    several = [ts.allreduce(f"g{i}", value(comm.rank, i), post=False) for i in range(5)]
    mixed = several[:]
    random.Random(SEED + comm.rank).shuffle(mixed)
    ts.post(mixed, group=True)
    for i, got in enumerate(ts.wait(several)):
        ok(f"member {i}", np.array_equal(got, sum_of(i)))
    ts.post([])
    with coll.Tensors(comm) as other:
        raises("members of two communicators", ValueError,
               lambda: ts.post([several[0], other.barrier("b", post=False)]))


def dropped():
    """Arrays of tensors that nobody has stay until these are over."""
    a = np.ones(1000)
    seen = weakref.ref(a)
    if comm.rank == 0:
        ts.allreduce("dropped", coll.IN_PLACE, a)
        del a
        gc.collect()
        ok("the array is kept", comm.size == 1 or seen() is not None)
        comm.barrier()
    else:
        comm.barrier()
        ts.allreduce("dropped", coll.IN_PLACE, a).wait()
        del a
    # a later call lets go of it, when the result has come
    for i in range(100):
        ts.barrier(f"later {i}").wait()
        gc.collect()
    ok("the array is free", seen() is None)


class Interrupted(Exception):
    """As from a signal handler, behind a call of the library."""


class Library:
    """The library, with some functions replaced."""

    def __init__(self, **functions):
        self._lib = coll._tensors.lib
        self.__dict__.update(functions)

    def __getattr__(self, name):
        return getattr(self._lib, name)

    def __enter__(self):
        coll._comm.lib = coll._tensors.lib = self
        return self._lib

    def __exit__(self, *_args):
        coll._comm.lib = coll._tensors.lib = self._lib


def lost_result():
    """An exception comes behind the call that has the result: it is unknown, and not 0."""
    def wait_for(*args):
        ret = real.coll_tensor_wait_for(*args)
        if args[2][0]:
            raise Interrupted
        return ret

    t = ts.barrier("lost")
    with Library(coll_tensor_wait_for=wait_for) as real:
        raises("an exception behind a call", Interrupted, t.wait)
    raises("a lost result", coll.Error, t.wait, errno.EINTR)
    raises("the same error again", coll.Error, t.test, errno.EINTR)
    ok("it can be posted again", t.post().wait() is None)
    with Library(coll_tensor_wait_for=wait_for) as real:
        raises("an exception behind the next call", Interrupted, t.post().wait)
    ok("posted again without a wait", t.post().wait() is None)


def devices():
    """Files of this process that are /dev/coll."""
    gc.collect()
    links = (os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd"))
    return sum(os.path.lexists(link) and os.readlink(link) == "/dev/coll" for link in links)


def lost_communicator():
    """An exception comes behind the call that has made a communicator: it is freed."""
    def makes(what):
        def make(*args):
            ret = getattr(real, what)(*args)
            if not ret:
                raise Interrupted
            return ret
        return make

    before = devices()
    for what, call in (("coll_comm_dup", comm.dup),
                       ("coll_comm_split", lambda: comm.split(0)),
                       ("coll_tensors_create", lambda: coll.Tensors(comm)),
                       ("coll_tensors_split", lambda: coll.Tensors.split(comm, 0)),
                       ("coll_tensors_local", lambda: coll.Tensors.local(comm))):
        with Library(**{what: makes(what)}) as real:
            raises(f"an exception behind {what}", Interrupted, call)
        now = devices()
        ok(f"{what}: {now - before} files are left", now == before)
    with comm.dup(), coll.Tensors(comm):
        ok("two files while they are there", devices() == before + 2)


def freed_once():
    """An exception comes behind the call that frees a dropped tensor."""
    def free(t):
        ret = real.coll_tensor_free(t)
        if not ret:
            freed.append(int(coll._tensors.ffi.cast("uintptr_t", t)))
            raise Interrupted
        return ret

    freed = []
    if comm.rank or comm.size == 1:
        comm.barrier()
        ts.barrier("freed once").wait()
        return
    t = ts.barrier("freed once")
    at = int(coll._tensors.ffi.cast("uintptr_t", t._at[0]))
    del t
    gc.collect()
    comm.barrier()
    with Library(coll_tensor_free=free) as real:
        for _i in range(1000):
            try:
                ts.post([])
            except Interrupted:
                pass
            if not ts._left:
                break
            time.sleep(0.01)
        ts.post([])
    ok(f"a dropped tensor is freed {freed.count(at)} times", freed.count(at) == 1)


def dropped_in_finalize():
    """The garbage collector finds a posted tensor when finalize() has begun."""
    class Live(weakref.WeakSet):
        def __iter__(self):
            if other._ts == coll._tensors.ffi.NULL:
                gc.collect()
            return super().__iter__()

    def finalize(c):
        there.append(seen() is not None)
        return real.coll_tensors_finalize(c)

    there, box = [], []
    other = coll.Tensors(comm)
    a = np.ones(1000)
    seen = weakref.ref(a)
    if comm.rank == 0:
        other._calls.live = Live()
        gc.disable()
        box += [box, other.allreduce("in a cycle", coll.IN_PLACE, a)]
        del a, box
        with Library(coll_tensors_finalize=finalize) as real:
            other.finalize()
        gc.enable()
        ok(f"its array is kept: {there}", there == [True])
        gc.collect()
        ok("and free then", seen() is None)
    else:
        other.allreduce("in a cycle", coll.IN_PLACE, a).wait()
        other.finalize()


def in_a_cycle():
    """The garbage collector finds tensors and one that is posted, which rank 1 never posts."""
    if comm.size == 1:
        return
    other = coll.Tensors(comm)
    if comm.rank == 0:
        box = [other, other.allreduce("in a cycle", coll.IN_PLACE, np.ones(1000))]
        box.append(box)
        del other, box
        gc.collect()
        comm.barrier()
    else:
        comm.barrier()
        raises("tensors that rank 0 has dropped", coll.Error, lambda: other.barrier("b").wait(),
               errno.ESHUTDOWN)
        other.finalize()


def joins():
    """finalize() while another thread waits until all ranks have joined: rank 1 does not."""
    def join():
        try:
            other.join()
        except (coll.Error, ValueError) as e:
            said.append(e)

    said = []
    with coll.Tensors(comm) as other:
        if comm.rank == 0 and comm.size > 1:
            thread = threading.Thread(target=join, daemon=True)
            thread.start()
            while not other._calls._threads:
                time.sleep(0.001)
            other.finalize()
            thread.join(20)
            ok(f"a join beside finalize(): {said!r}", not thread.is_alive() and len(said) == 1)
        comm.barrier()


def threads():
    """Threads post and wait at the same time."""
    def work(k):
        for step in range(20):
            got = ts.allreduce(f"thread {k} {step}", np.array([comm.rank + k])).wait()
            if got[0] != sum(r + k for r in range(comm.size)):
                bad.append(got)

    bad, all_threads = [], [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join(60)
    ok(f"threads: {bad}", not bad and not any(t.is_alive() for t in all_threads))


def forked():
    """A child of rank 0 whose other thread waits: calls fail at once, and finalize() works."""
    if comm.rank:
        comm.barrier()
        ts.barrier("late").wait()
        return
    if comm.size == 1:
        return
    t = ts.barrier("late")
    thread = threading.Thread(target=t.wait, daemon=True)
    thread.start()
    for body in t.test, t.wait, ts.finalize:
        # The thread holds the lock, but for a moment every 50 ms.
        while t._lock.acquire(blocking=False):
            t._lock.release()
            time.sleep(0.01)
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            signal.alarm(20)
            try:
                body()
                os._exit(0)
            except coll.Error as e:
                os._exit(e.errno)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        ok(f"{body.__name__} in a child: {status}",
           status == (0 if body == ts.finalize else errno.EPERM))
    comm.barrier()
    thread.join(20)
    ok("the thread of the parent", not thread.is_alive() and t.test())


def in_a_handler():
    """A handler of a signal cannot wait for what it has interrupted. Rank 0 waits for others."""
    other, done = coll.Tensors(comm), []
    t = other.barrier("late", post=False)

    def handler(_number, frame):
        while frame and frame.f_code.co_name != "_step":
            frame = frame.f_back
        if done or not frame:
            return
        done.append(True)
        raises("a wait in a handler", coll.Error, t.wait, errno.EDEADLK)
        raises("a finalize in a handler", coll.Error, other.finalize, errno.EDEADLK)
        ok("a test in a handler", not t.test())
        comm.barrier()

    if comm.rank == 0 and comm.size > 1:
        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        ok("a wait with a handler", t.post().wait() is None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    else:
        comm.barrier()
        t.post().wait()
    other.finalize()


def joined():
    """Rank r has r steps more than rank 0; who has joined contributes nothing."""
    n = comm.size
    for step in range(comm.rank + 1):
        got = ts.allreduce(f"step {step}", np.array([1.0, comm.rank])).wait()
        present = [r for r in range(n) if r >= step]
        ok(f"step {step}: {got}", np.array_equal(got, [len(present), sum(present)]))
    ok("the last one to join", ts.join() == n - 1 or n == 1)
    ts.barrier("all are back").wait()


def ends():
    other = coll.Tensors(comm)
    a = np.zeros(4)
    t = other.allreduce("unfinished", coll.IN_PLACE, a)
    other.finalize()
    other.finalize()
    ok("finalize waits", np.array_equal(a, np.zeros(4)))
    raises("a tensor after the end", ValueError, t.wait)
    raises("a post after the end", ValueError, t.post)
    raises("a call after the end", ValueError, lambda: other.barrier("b"))
    with coll.Tensors(comm) as other:
        t = other.barrier("never", post=False)
        if comm.rank == 0:
            other.abort(9)
        try:
            # others may have ended it meanwhile
            t.post().wait()
            ok("an abort", False)
        except coll.Error as e:
            ok(f"an abort: {e!r}", e.errno == errno.ESHUTDOWN)


with coll.Comm() as comm:
    with coll.Tensors(comm) as ts:
        for test in any_order, factors, mismatches, groups, dropped, lost_result, \
                lost_communicator, freed_once, dropped_in_finalize, in_a_cycle, joins, threads, \
                forked, in_a_handler, joined, ends:
            test()
    with coll.Tensors.split(comm, comm.rank % 2) as half:
        got = half.allreduce("r", np.array([comm.rank])).wait()[0]
        ok("a sum over a part", got == sum(range(comm.rank % 2, comm.size, 2)))
        ok("rank of a part", half.rank == comm.rank // 2)
sys.exit(wrong != 0)
