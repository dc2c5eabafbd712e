#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A rank that makes every call of the Python package, and compares with numpy.

Arrays of random numbers, from COLL_TEST_SEED. Prints what is wrong; status 0, or 1.
"""
import copy
import errno
import gc
import os
import signal
import sys
import threading
import time
import weakref

import numpy as np

import coll

SEED = int(os.environ.get("COLL_TEST_SEED", "1"), 0)
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
          "float16", "float32", "float64", "complex64", "complex128")
wrong = 0
# Does alarm() raise?
armed = [False]


def ok(what, good):
    global wrong
    if not good:
        print(f"rank {comm.rank}: {what}")
        wrong += 1


def equal(what, got, want):
    ok(f"{what}: {got!r}, not {want!r}", got.dtype == want.dtype and np.array_equal(got, want))


def raises(what, kind, call, number=None):
    try:
        call()
    except kind as e:
        ok(f"{what}: {e!r}", number is None or e.errno == number)
    else:
        ok(f"{what}: no exception", False)


def both(what, blocking, nonblocking, want):
    """The blocking call, and the one that is started and waited for."""
    equal(what, blocking(), want)
    request = nonblocking()
    while not request.test():
        pass
    equal("i" + what, request.wait(), want)


def inputs(dtype, *shape):
    """Of all ranks, alike on each."""
    rng = np.random.default_rng([SEED, len(shape), *shape])
    small = rng.integers(0, 2 if dtype == "bool" else 9, (comm.size, *shape))
    return small.astype(dtype)


def reductions(dtype):
    all_in = inputs(dtype, 3, 7)
    mine, me, n = all_in[comm.rank], comm.rank, comm.size
    op, fold = (coll.LOR, np.logical_or) if dtype == "bool" else (coll.SUM, np.add)
    total = fold.reduce(all_in, dtype=dtype)
    both(f"allreduce {dtype}", lambda: comm.allreduce(mine, op=op),
         lambda: comm.iallreduce(mine, op=op), total)
    copy = mine.copy()
    got = comm.allreduce(coll.IN_PLACE, copy, op)
    ok("in place gives the array itself", got is copy)
    equal(f"allreduce in place {dtype}", copy, total)
    both(f"scan {dtype}", lambda: comm.scan(mine, op=op), lambda: comm.iscan(mine, op=op),
         fold.reduce(all_in[:me + 1], dtype=dtype))
    if me:
        both(f"exscan {dtype}", lambda: comm.exscan(mine, op=op),
             lambda: comm.iexscan(mine, op=op), fold.reduce(all_in[:me], dtype=dtype))
    else:
        comm.exscan(mine, op=op)
        comm.iexscan(mine, op=op).wait()
    root = n - 1
    got, later = comm.reduce(mine, op=op, root=root), comm.ireduce(mine, op=op, root=root).wait()
    if me == root:
        equal(f"reduce {dtype}", got, total)
        equal(f"ireduce {dtype}", later, total)
    else:
        ok("reduce gives nothing elsewhere", got is None and later is None)
    blocks = inputs(dtype, n, 5)
    total = fold.reduce(blocks, dtype=dtype)
    both(f"reduce_scatter_block {dtype}",
         lambda: comm.reduce_scatter_block(blocks[me], op=op),
         lambda: comm.ireduce_scatter_block(blocks[me], op=op), total[me])
    counts = [r + 1 for r in range(n)]
    flat = inputs(dtype, sum(counts))
    want = fold.reduce(flat, dtype=dtype)[sum(counts[:me]):sum(counts[:me + 1])]
    both(f"reduce_scatter {dtype}", lambda: comm.reduce_scatter(flat[me], counts, op=op),
         lambda: comm.ireduce_scatter(flat[me], counts, op=op), want)


def moves(dtype):
    all_in = inputs(dtype, 4, 2)
    me, n = comm.rank, comm.size
    root = n // 2
    buf = all_in[me].copy()
    both(f"broadcast {dtype}", lambda: comm.broadcast(buf, root),
         lambda: comm.ibroadcast(buf, root), all_in[root])
    both(f"allgather {dtype}", lambda: comm.allgather(all_in[me]),
         lambda: comm.iallgather(all_in[me]), all_in)
    recv = np.zeros_like(all_in)
    recv[me] = all_in[me]
    equal(f"allgather in place {dtype}", comm.allgather(coll.IN_PLACE, recv), all_in)
    got, later = comm.gather(all_in[me], root=root), comm.igather(all_in[me], root=root).wait()
    if me == root:
        equal(f"gather {dtype}", got, all_in)
        equal(f"igather {dtype}", later, all_in)
    recv = np.empty_like(all_in[0])
    both(f"scatter {dtype}", lambda: comm.scatter(all_in, recv, root),
         lambda: comm.iscatter(all_in, recv, root), all_in[me])
    blocks = inputs(dtype, n, 3)
    both(f"alltoall {dtype}", lambda: comm.alltoall(blocks[me]),
         lambda: comm.ialltoall(blocks[me]), np.ascontiguousarray(blocks[:, me]))


def unequal(dtype):
    me, n, root = comm.rank, comm.size, 0
    counts = [r % 3 for r in range(n)]
    displs = [sum(counts[:r]) + r for r in range(n)]
    room = sum(counts) + n
    blocks = [inputs(dtype, 3)[r][:counts[r]] for r in range(n)]
    want = np.concatenate(blocks)
    both(f"allgatherv {dtype}", lambda: comm.allgatherv(blocks[me], counts),
         lambda: comm.iallgatherv(blocks[me], counts), want)
    spread = np.zeros(room, dtype)
    for r in range(n):
        spread[displs[r]:displs[r] + counts[r]] = blocks[r]
    equal(f"allgatherv with gaps {dtype}",
          comm.allgatherv(blocks[me], counts, np.zeros(room, dtype), displs), spread)
    got = comm.gatherv(blocks[me], counts)
    later = comm.igatherv(blocks[me], counts).wait()
    if me == root:
        equal(f"gatherv {dtype}", got, want)
        equal(f"igatherv {dtype}", later, want)
    recv = np.empty(counts[me], dtype)
    both(f"scatterv {dtype}", lambda: comm.scatterv(spread, recv, counts, displs, root),
         lambda: comm.iscatterv(spread, recv, counts, displs, root), blocks[me])


def kinds_of_counts():
    """Counts and displacements are lists, arrays of numpy, tuples, or iterators."""
    me, n, root = comm.rank, comm.size, 0
    numbers, starts = [r % 3 for r in range(n)], [2 * r for r in range(n)]
    mine, spread = np.full(numbers[me], me), np.repeat(np.arange(n), 2)
    want = np.repeat(np.arange(n), numbers)
    for kind in np.array, tuple, iter:
        name = kind.__name__
        equal(f"allgatherv, counts {name}", comm.allgatherv(mine, kind(numbers)), want)
        equal(f"reduce_scatter, counts {name}",
              comm.reduce_scatter(np.ones(sum(numbers)), kind(numbers)),
              np.full(numbers[me], n * 1.0))
        got, later = comm.gatherv(mine, kind(numbers)), comm.igatherv(mine, kind(numbers)).wait()
        if me == root:
            equal(f"gatherv, counts {name}", got, want)
            equal(f"igatherv, counts {name}", later, want)
        got = comm.gatherv(mine, kind(numbers), np.zeros(2 * n, int), kind(starts))
        if me == root:
            equal(f"gatherv with gaps, counts {name}", np.concatenate(
                [got[s:s + c] for s, c in zip(starts, numbers)]), want)
        both(f"scatterv, counts {name}",
             lambda k=kind: comm.scatterv(spread, np.zeros_like(mine), k(numbers), k(starts)),
             lambda k=kind: comm.iscatterv(spread, np.zeros_like(mine), k(numbers), k(starts)), mine)
    to, back = np.repeat(np.arange(n), 2), np.repeat(np.full(n, me), 2)
    for kind in np.array, tuple, iter:
        each = [2] * n
        equal(f"alltoallv, counts {kind.__name__}",
              comm.alltoallv(back, kind(each), kind(each), None, kind(starts), kind(starts)), to)


def crosswise(dtype):
    """Rank s gives rank r (s + 2 r) % 4 elements; what comes lies in the opposite order."""
    me, n = comm.rank, comm.size
    counts = [[(s + 2 * r) % 4 for r in range(n)] for s in range(n)]
    data = inputs(dtype, 4 * n)
    starts = [[sum(counts[s][:r]) for r in range(n)] for s in range(n)]
    blocks = [data[s][starts[s][me]:starts[s][me] + counts[s][me]] for s in range(n)]
    mine, get = data[me][:sum(counts[me])].copy(), [counts[s][me] for s in range(n)]
    both(f"alltoallv {dtype}", lambda: comm.alltoallv(mine, counts[me], get),
         lambda: comm.ialltoallv(mine, counts[me], get), np.concatenate(blocks))
    back = [sum(get[r + 1:]) for r in range(n)]
    equal(f"alltoallv with displacements {dtype}",
          comm.alltoallv(mine, counts[me], get, recv_displs=iter(back)), np.concatenate(blocks[::-1]))


def messages():
    me, n = comm.rank, comm.size
    data, into = np.arange(10) + me, np.zeros(10, int)
    right, left = (me + 1) % n, (me - 1) % n
    got = comm.sendrecv(data, right, into, left, send_tag=3, recv_tag=3)
    ok(f"sendrecv: {got[1:]}", got[0] is into and got[1:] == (left, 3, 10))
    equal("sendrecv", into, np.arange(10) + left)
    sent, got = comm.isend(data[:4], right, 5), comm.irecv(into).wait()
    sent.wait()
    ok(f"irecv: {got[1:]}", got[1:] == (left, 5, 4) and np.array_equal(into[:4], data[:4] - me + left))
    if n > 1 and me == 0:
        comm.send(data, 1, 9)
    if me == 1:
        ok(f"probe: {comm.probe(0)}", comm.probe(0) == (0, 9, 80))
        comm.recv(into, 0, 9)
    waits = comm.irecv(into, tag=77)
    waits.cancel()
    raises("a receive that was cancelled", coll.Error, waits.wait, 125)


class Alarm(Exception):
    """By a handler of a signal"""


def alarm(*_args):
    if armed[0]:
        raise Alarm


def found_within(seconds, tag):
    """A message from rank 0, or None."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        message = comm.improbe(0, tag)
        if message:
            return message
    return None


def interrupted_early():
    """A handler raises while there is no message."""
    start, said = time.monotonic(), None
    armed[0] = True
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        comm.mprobe(0, 21)
    except Alarm:
        said = time.monotonic() - start
    armed[0] = False
    ok(f"a handler during mprobe: {said} s", said is not None and said < 0.8)


def interrupted_late():
    """A handler raises when a message has been reserved."""
    def raises_behind(*args):
        check(*args)
        alarm()

    check, coll._messages.check = coll._messages.check, raises_behind
    comm.probe(0, 22)
    armed[0] = True
    raises("a handler behind improbe", Alarm, lambda: comm.improbe(0, 22))
    armed[0] = False
    coll._messages.check = check
    ok("what is left over has another tag", comm.improbe(0, 24) is None)
    ok("what is left over has another source", comm.improbe(1, 22) is None)


def interrupted_often(count):
    """Handlers raise at any time."""
    for i in range(count):
        message = None
        try:
            armed[0] = True
            signal.setitimer(signal.ITIMER_REAL, 0.00002 * (i % 25 + 1))
            message = comm.mprobe(0, 23)
            armed[0] = False
        except Alarm:
            armed[0] = False
        message = message or found_within(5, 23)
        ok(f"message {i} of many", message is not None)
        if not message:
            return
        got = message.recv(np.zeros(1, int))
        ok(f"message {i} of many: {got!r}", got[0][0] == i)


def interrupted():
    """A message whose mprobe() a handler has ended is for the next one."""
    if comm.size == 1 or comm.rank > 1:
        return
    count = 200
    if comm.rank == 0:
        time.sleep(1)
        requests = [comm.isend(np.array([tag]), 1, tag) for tag in (21, 22)]
        requests += [comm.isend(np.array([i]), 1, 23) for i in range(count)]
        until = time.monotonic() + 30
        while not all([r.test() for r in requests]) and time.monotonic() < until:
            time.sleep(0.001)
        ok("what rank 1 has probed is received", all([r.test() for r in requests]))
        return
    before = signal.signal(signal.SIGALRM, alarm)
    interrupted_early()
    interrupted_late()
    for tag in 21, 22:
        message = found_within(5, tag)
        ok(f"a message after a handler, tag {tag}", message and
           message.recv(np.zeros(1, int))[0][0] == tag)
    interrupted_often(count)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def late_probe():
    """The deadline of the communicator is that of mprobe(), too."""
    other = comm.dup()
    other.set_timeout(0.3)
    start = time.monotonic()
    raises("an mprobe past the deadline", coll.Error, other.mprobe, 110)
    ok("an mprobe with a deadline", time.monotonic() - start < 10)
    raises("an mprobe after that", coll.Error, other.improbe, 110)
    other.finalize()


def pairs():
    dtype = np.dtype([("value", "f8"), ("place", "i4")], align=True)
    mine = np.zeros(2, dtype)
    mine["value"], mine["place"] = [-comm.rank, comm.rank], comm.rank
    got = comm.allreduce(mine, op=coll.MINLOC)
    ok(f"minloc: {got!r}", list(got["place"]) == [comm.size - 1, 0])


def errors():
    a = np.zeros(4)
    raises("a list", TypeError, lambda: comm.allreduce([1, 2]))
    raises("a column", ValueError, lambda: comm.allreduce(np.zeros((4, 4))[:, 1]))
    raises("another size", ValueError, lambda: comm.allreduce(a, np.zeros(5)))
    raises("another type", TypeError, lambda: comm.allreduce(a, np.zeros(4, int)))
    raises("text", TypeError, lambda: comm.allreduce(np.array(["a"])))
    raises("bytes the other way round", TypeError, lambda: comm.allreduce(np.zeros(2, ">i4")))
    raises("an array that is read only", ValueError,
           lambda: comm.allreduce(a, np.frombuffer(bytes(32))))
    raises("bits of floats", coll.Error, lambda: comm.allreduce(a, op=coll.BAND), 95)
    raises("counts of too few ranks", coll.Error, lambda: comm.reduce_scatter(a, []), 22)
    counts = [1] * comm.size
    raises("a list with counts", TypeError, lambda: comm.allgatherv([1], counts))
    raises("in place of nothing", TypeError, lambda: comm.allgather(coll.IN_PLACE))
    raises("in place of nothing, with counts", TypeError,
           lambda: comm.allgatherv(coll.IN_PLACE, counts))
    raises("no such rank", IndexError, lambda: comm.node_of(comm.size))
    raises("no such collective", ValueError, lambda: comm.set_algorithm("foo", "ring"))
    raises("a copy", TypeError, lambda: copy.copy(comm))
    raises("half a block", TypeError, lambda: comm.allgatherv(a, [4.5] * comm.size))
    equal("counts whose sum is no uint8",
          comm.allgatherv(np.ones(200), np.full(comm.size, 200, np.uint8)),
          np.ones(200 * comm.size))


def own_counts():
    """The count of the root itself does not fit its array: nothing beside the array is touched."""
    with comm.split(comm.rank) as alone:
        big, many = np.full(1000, -1.0), np.arange(999.0)
        for scatter in alone.scatterv, alone.iscatterv:
            raises("a block that is too large", ValueError, lambda: scatter(many, big[:1], [999]))
            raises("a block that is too small", ValueError, lambda: scatter(many, big, [999]))
        for gather in alone.gatherv, alone.igatherv:
            raises("more than there is", ValueError, lambda: gather(big[:1], [999]))
            raises("less than there is", ValueError, lambda: gather(big, [999]))
        equal("what is beside the array", big, np.full(1000, -1.0))


def foreign_pairs():
    swapped = {"names": ["v", "p"], "formats": ["f8", "i4"], "offsets": [8, 0], "itemsize": 16}
    for what in ([("v", ">f8"), ("p", ">i4")], [("v", "f8"), ("p", ">i4")]):
        raises(f"pairs {what}", TypeError,
               lambda w=what: comm.allreduce(np.zeros(2, np.dtype(w, align=True)), op=coll.MINLOC))
    raises("pairs the other way round", TypeError,
           lambda: comm.allreduce(np.zeros(2, np.dtype(swapped)), op=coll.MINLOC))
    for first in ("f4", "f8", "i8", "i4", "i2", "longdouble"):
        dtype = np.dtype([("v", first), ("p", "i4")], align=True)
        ok(f"a pair of {first}", coll.op_supported(coll.MINLOC, dtype))


def twice():
    """What a request has said it says again."""
    me, n = comm.rank, comm.size
    request = comm.iallreduce(np.array([me]))
    got = request.wait()
    ok("a result twice", request.wait() is got and request.test())
    into, sent = np.zeros(2, int), comm.isend(np.array([me, 3]), (me + 1) % n, 4)
    request = comm.irecv(into, tag=4)
    got = request.wait()
    ok(f"a message twice: {got!r}", request.wait() == got and got[1:] == ((me - 1) % n, 4, 2))
    sent.wait()
    waits = comm.irecv(into, tag=78)
    waits.cancel()
    raises("an error", coll.Error, waits.wait, 125)
    raises("the same error by wait", coll.Error, waits.wait, 125)
    raises("the same error by test", coll.Error, waits.test, 125)


def after_the_end():
    other = comm.dup()
    over, live = other.ibarrier(), other.irecv(np.empty(3))
    over.wait()
    other.finalize()
    over.wait()
    for call in live.wait, live.test, live.cancel:
        raises(f"{call.__name__} after the end", ValueError, call)


def threads():
    """One thread waits for a receive that nothing comes for, the other one looks and ends it."""
    def waiter(request, said):
        try:
            request.wait()
        except (coll.Error, ValueError) as e:
            said.append(e)

    for end in "cancel", "finalize":
        # a rank of its own: others would be missed when they have left
        other, said = comm.split(comm.rank), []
        request = other.irecv(np.empty(4))
        thread = threading.Thread(target=waiter, args=(request, said), daemon=True)
        thread.start()
        for _ in range(1000):
            ok("a test beside a wait", not request.test())
        if end == "cancel":
            request.cancel()
        else:
            other.finalize()
        thread.join(20)
        ok(f"{end} beside a wait: {said!r}", not thread.is_alive() and len(said) == 1 and
           (isinstance(said[0], ValueError) if end == "finalize" else said[0].errno == 125))
        other.finalize()


def blocked_threads():
    """finalize() while another thread is in a blocking call that nobody else makes."""
    def waiter(call, said):
        try:
            call()
        except (coll.Error, ValueError) as e:
            said.append(e)

    alone, both, buf = comm.split(comm.rank), comm.dup(), np.empty(4)
    for other, call in (alone, lambda: alone.recv(buf)), (both, both.barrier):
        said = []
        if other is both and (comm.rank or comm.size == 1):
            continue
        thread = threading.Thread(target=waiter, args=(call, said), daemon=True)
        thread.start()
        while not other._calls._threads or all(c.test() for c in other._calls.all()):
            time.sleep(0.001)
        # Before it is in the function of C, or there.
        time.sleep(0.1 * (comm.rank % 2))
        other.finalize()
        thread.join(20)
        ok(f"finalize beside {other!r}: {said!r}", not thread.is_alive() and len(said) == 1 and
           isinstance(said[0], (ValueError, coll.Error)))
    comm.barrier()
    both.finalize()


def in_a_cycle():
    """The garbage collector finds a communicator and a call of it that rank 1 never makes."""
    if comm.size == 1:
        return
    other = comm.dup()
    if comm.rank == 0:
        box = [other, other.iallreduce(np.ones(3))]
        box.append(box)
        del other, box
        gc.collect()
        comm.barrier()
    else:
        comm.barrier()
        raises("a communicator that rank 0 has dropped", coll.Error, other.barrier,
               errno.ESHUTDOWN)
        other.finalize()


def ends_in_child(body):
    """Calls body() in a forked child. Does that end, and all is well there?"""
    global wrong
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        wrong = 0
        try:
            body()
        finally:
            sys.stdout.flush()
            os._exit(wrong != 0)
    until, got, status = time.monotonic() + 20, 0, None
    while not got and time.monotonic() < until:
        got, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
    if not got:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return got and not status


def forked():
    """A child of a rank whose other thread waits: calls fail at once, and finalize() works."""
    def calls():
        raises("a test in a child", coll.Error, request.test, errno.EPERM)
        raises("a wait in a child", coll.Error, request.wait, errno.EPERM)
        raises("a call in a child", coll.Error, other.barrier, errno.EPERM)
        other.finalize()

    def leaves():
        try:
            with other:
                raise KeyError("leaves")
        except KeyError:
            pass

    def waiter():
        try:
            request.wait()
        except coll.Error as e:
            said.append(e)

    other, said = comm.split(comm.rank), []
    request = other.irecv(np.empty(4))
    thread = threading.Thread(target=waiter, daemon=True)
    thread.start()
    for name, body in ("calls", calls), ("finalize", other.finalize), ("exception", leaves):
        # The thread holds the lock, but for a moment every 50 ms.
        while request._lock.acquire(blocking=False):
            request._lock.release()
            time.sleep(0.01)
        ok(f"a child, {name}", ends_in_child(body))
    ok("a parent after that", not request.test() and thread.is_alive())
    request.cancel()
    thread.join(20)
    ok(f"the thread of the parent: {said!r}", len(said) == 1 and said[0].errno == errno.ECANCELED)
    other.finalize()


def in_a_handler():
    """A handler of a signal cannot wait for what it has interrupted."""
    other, done = comm.split(comm.rank), []
    request = other.irecv(np.empty(4))

    def handler(_number, frame):
        while frame and frame.f_code.co_name != "_step":
            frame = frame.f_back
        if done or not frame:
            return
        done.append(True)
        raises("a wait in a handler", coll.Error, request.wait, errno.EDEADLK)
        raises("a finalize in a handler", coll.Error, other.finalize, errno.EDEADLK)
        ok("a test in a handler", not request.test())
        request.cancel()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    raises("a wait that a handler ends", coll.Error, request.wait, errno.ECANCELED)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    other.finalize()


def dropped():
    """The arrays of a request that is dropped stay until it is over."""
    me, n = comm.rank, comm.size
    if n == 1:
        return
    recv = np.zeros(1 << 18)
    seen = weakref.ref(recv)
    if me:
        request = comm.iallreduce(np.ones(1 << 18), recv)
        del request, recv
        gc.collect()
        ok("arrays of a call under way", seen() is not None)
        # rank 0 begins when the others have dropped theirs
        comm.send(np.zeros(1), 0, 6)
    else:
        for r in range(1, n):
            comm.recv(np.zeros(1), r, 6)
        equal("a sum with ranks that have dropped theirs", comm.allreduce(np.ones(1 << 18), recv),
              np.full(1 << 18, float(n)))
        del recv
    comm.barrier()
    comm.barrier()
    ok("arrays of a call that is over", seen() is None)
    with comm.dup() as other:
        recv = np.zeros(10)
        seen = weakref.ref(recv)
        other.irecv(recv)
        del recv
        ok("the array of a receive", seen() is not None)
    ok("the array of a receive, after the end", seen() is None)


def arguments():
    """What says who a rank is comes together; the rest may replace what the environment says."""
    for bad in {"rank": 0}, {"size": 2}, {"exchange": lambda mine, ms: [mine]}, \
            {"rendezvous": "127.0.0.1:1"}, {"rendezvous": "127.0.0.1:1", "rank": 1}:
        raises(f"arguments {list(bad)}", TypeError, lambda b=bad: coll.Comm(**b))
    for name, answer in (("short", lambda mine, ms: [mine]),
                         ("long", lambda mine, ms: [mine * 1000] * 2),
                         ("uneven", lambda mine, ms: [mine[1:], mine + b"x"]),
                         ("much", lambda mine, ms: [mine] * 1000)):
        raises(f"{name} answer of an exchange", coll.Error,
               lambda a=answer: coll.Comm(0, 2, exchange=a), 22)
    with coll.Comm(timeout=60, uring=False) as other:
        ok("size by the environment", (other.rank, other.size) == (comm.rank, comm.size))


def parts():
    me, n = comm.rank, comm.size
    with comm.split(me % 2, -me) as half:
        mine = [r for r in range(n) if r % 2 == me % 2]
        ok("ranks of a part", half.size == len(mine) and half.rank == len(mine) - 1 - me // 2)
        equal("a sum over a part", half.allreduce(np.array([me])), np.array([sum(mine)]))
    ok("no part", comm.split(coll.UNDEFINED if me else 0) is None or me == 0)
    other = comm.dup()
    raised = None
    if me == 0:
        other.abort(7)
    try:
        while n > 1:
            other.barrier()
    except coll.Error as e:
        raised = e
    ok(f"abort: {raised!r}", n == 1 or (raised.errno == 108 and "7" in raised.cause))
    other.finalize()
    other.finalize()
    raises("a communicator that is gone", ValueError, other.barrier)


def main():
    for dtype in DTYPES:
        if coll.op_supported(coll.LOR if dtype == "bool" else coll.SUM, dtype):
            reductions(dtype)
        moves(dtype)
        unequal(dtype)
        crosswise(dtype)
    kinds_of_counts()
    messages()
    interrupted()
    late_probe()
    pairs()
    foreign_pairs()
    errors()
    own_counts()
    twice()
    after_the_end()
    threads()
    blocked_threads()
    in_a_cycle()
    forked()
    in_a_handler()
    dropped()
    arguments()
    parts()
    comm.ibarrier().wait()
    comm.barrier()


with coll.Comm() as comm:
    main()
sys.exit(wrong != 0)
