# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Messages between two ranks."""
import time
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._coll import ffi, lib
from ._error import check
from ._request import Request
from ._types import array, dtype_of, pointer, vector

Array = np.ndarray
# buffer, source, tag, elements that came
Received = Tuple[Array, int, int, int]
# The longest time between two looks of mprobe(), in seconds
_NAP = 0.001


class Messages:
    """The methods of a communicator for messages.

    Comm has _comm, _calls, _call, _start, _reserved.
    """

    _comm: Any
    _calls: Any
    _call: Any
    _start: Any
    _reserved: Dict[int, Any]

    def _message(self, name: str, args: tuple, keep: tuple, recv: Array, got):
        def result():
            return recv, got.source, got.tag, lib.coll_message_count(got, dtype_of(recv.dtype))

        return name, args, keep, result

    def send(self, buf: Array, dest: int, tag: int = 0) -> None:
        """A message to one rank. Returns when ``buf`` may be used again."""
        array(buf, "buf")
        self._call("send", (pointer(buf), buf.size, dtype_of(buf.dtype), dest, tag), (buf,), None)

    def isend(self, buf: Array, dest: int, tag: int = 0) -> Request:
        """As send(), without waiting."""
        array(buf, "buf")
        return self._start("send", (pointer(buf), buf.size, dtype_of(buf.dtype), dest, tag),
                           (buf,), None)

    def _recv(self, buf: Array, source: int, tag: int):
        got = ffi.new("struct coll_message *")
        args = (vector(buf, "buf", write=True), buf.size, dtype_of(buf.dtype), source, tag, got)
        return self._message("recv", args, (buf, got), buf, got)

    def recv(self, buf: Array, source: int = lib.COLL_RANK_ANY,
             tag: int = lib.COLL_TAG_ANY) -> Received:
        """A message. Returns (buf, source, tag, elements that came).

        >>> if me == 0:
        ...     comm.send(np.array([1.5, 2.5]), 1)
        ... else:
        ...     buf, source, tag, n = comm.recv(np.empty(9))
        ...     assert (buf[:n].tolist(), source, tag) == ([1.5, 2.5], 0, 0)
        """
        return self._call(*self._recv(buf, source, tag))()

    def irecv(self, buf: Array, source: int = lib.COLL_RANK_ANY,
              tag: int = lib.COLL_TAG_ANY) -> Request:
        """As recv(), without waiting.

        >>> request = comm.irecv(np.empty(3, int), source=1 - me)
        >>> comm.send(np.array([me, 5]), 1 - me, tag=4)
        >>> buf, source, tag, n = request.wait()
        >>> (buf[:n].tolist(), source, tag) == ([1 - me, 5], 1 - me, 4)
        True
        """
        return self._start(*self._recv(buf, source, tag))

    def _sendrecv(self, send: Array, dest: int, recv: Array, source: int, send_tag: int,
                  recv_tag: int):
        got = ffi.new("struct coll_message *")
        args = (vector(send, "send"), send.size, dtype_of(send.dtype), dest, send_tag,
                vector(recv, "recv", write=True), recv.size, dtype_of(recv.dtype), source,
                recv_tag, got)
        return self._message("sendrecv", args, (send, recv, got), recv, got)

    def sendrecv(self, send: Array, dest: int, recv: Array, source: int = lib.COLL_RANK_ANY,
                 send_tag: int = 0, recv_tag: int = lib.COLL_TAG_ANY) -> Received:
        """Both at once. Returns as recv().

        >>> comm.sendrecv(np.array([me]), 1 - me, np.empty(1, int))[0].tolist() == [1 - me]
        True
        """
        return self._call(*self._sendrecv(send, dest, recv, source, send_tag, recv_tag))()

    def isendrecv(self, send: Array, dest: int, recv: Array, source: int = lib.COLL_RANK_ANY,
                  send_tag: int = 0, recv_tag: int = lib.COLL_TAG_ANY) -> Request:
        """As sendrecv(), without waiting.

        >>> request = comm.isendrecv(np.array([me]), 1 - me, np.empty(1, int))
        >>> request.wait()[0].tolist() == [1 - me]
        True
        """
        return self._start(*self._sendrecv(send, dest, recv, source, send_tag, recv_tag))

    def _sendrecv_replace(self, buf: Array, dest: int, source: int, send_tag: int, recv_tag: int):
        got = ffi.new("struct coll_message *")
        args = (vector(buf, "buf", write=True), buf.size, dtype_of(buf.dtype), dest, send_tag,
                source, recv_tag, got)
        return self._message("sendrecv_replace", args, (buf, got), buf, got)

    def sendrecv_replace(self, buf: Array, dest: int, source: int = lib.COLL_RANK_ANY,
                         send_tag: int = 0, recv_tag: int = lib.COLL_TAG_ANY) -> Received:
        """Sends ``buf``, and receives into it. Returns as recv().

        >>> comm.sendrecv_replace(np.array([me]), 1 - me)[0].tolist() == [1 - me]
        True
        """
        return self._call(*self._sendrecv_replace(buf, dest, source, send_tag, recv_tag))()

    def isendrecv_replace(self, buf: Array, dest: int, source: int = lib.COLL_RANK_ANY,
                          send_tag: int = 0, recv_tag: int = lib.COLL_TAG_ANY) -> Request:
        """As sendrecv_replace(), without waiting."""
        return self._start(*self._sendrecv_replace(buf, dest, source, send_tag, recv_tag))

    def _look(self, name: str, source: int, tag: int) -> Any:
        """What a probe has found, or None."""
        got, found = ffi.new("struct coll_message *"), ffi.new("int *", 1)
        more = (found,) if name == "iprobe" else ()
        with self._calls.inside():
            c = self._comm
            check(getattr(lib, "coll_" + name)(c, source, tag, *more, got), name, c)
        return got if found[0] else None

    def probe(self, source: int = lib.COLL_RANK_ANY,
              tag: int = lib.COLL_TAG_ANY) -> Tuple[int, int, int]:
        """Waits for a message, and leaves it. Returns (source, tag, bytes).

        >>> if me == 0:
        ...     comm.send(np.array([1.5, 2.5]), 1)
        ... else:
        ...     source, tag, length = comm.probe()
        ...     assert (source, tag, length) == (0, 0, 16)
        ...     assert comm.recv(np.empty(length // 8))[3] == 2
        """
        got = self._look("probe", source, tag)
        return got.source, got.tag, got.bytes

    def iprobe(self, source: int = lib.COLL_RANK_ANY,
               tag: int = lib.COLL_TAG_ANY) -> Optional[Tuple[int, int, int]]:
        """As probe(), without waiting: None if there is no message.

        >>> comm.iprobe(tag=98) is None
        True
        """
        got = self._look("iprobe", source, tag)
        return got and (got.source, got.tag, got.bytes)

    def mprobe(self, source: int = lib.COLL_RANK_ANY, tag: int = lib.COLL_TAG_ANY) -> "Message":
        """Waits for a message, and reserves it: no other receive or probe gets it.

        Receives that wait meanwhile get messages first. If the handler of a signal raises an
        exception, a message that is reserved already is for the next mprobe() or improbe().

        >>> request = comm.isend(np.array([me]), 1 - me)
        >>> message = comm.mprobe()
        >>> (message.source, message.tag, message.bytes) == (1 - me, 0, 8)
        True
        >>> message.recv(np.empty(1, int))[0].tolist() == [1 - me]
        True
        >>> request.wait()
        """
        # The C function would let no handler of a signal run, and end with a message that the
        # exception of a handler would lose.
        start = time.monotonic()
        command, ns = self._last_probe(source, tag)
        while True:
            message = self._reserve("mprobe", source, tag)
            if message is not None:
                return message
            waited = time.monotonic() - start
            if ns and waited * 1e9 > ns:
                with self._calls.inside():
                    c = self._comm
                    check(lib.coll_submit(c, command[0]), "mprobe", c)
            time.sleep(min(waited / 8, _NAP))

    def improbe(self, source: int = lib.COLL_RANK_ANY,
                tag: int = lib.COLL_TAG_ANY) -> Optional["Message"]:
        """As mprobe(), without waiting: None if there is no message.

        >>> comm.improbe(tag=98) is None
        True
        """
        return self._reserve("improbe", source, tag)

    def _last_probe(self, source: int, tag: int) -> Tuple[tuple, int]:
        """((command, ...), deadline of the communicator in nanoseconds).

        The command ends the communicator, as that deadline does, if there is no message.
        """
        got, command = ffi.new("struct coll_message *"), ffi.new("struct coll_cmd *")
        with self._calls.inside():
            lib.coll_cmd_recv(self._comm, command, ffi.NULL, 0, lib.COLL_DTYPE_NONE, source, tag,
                              got)
        ns = command.timeout_ns
        command.collective, command.timeout_ns = lib.COLL_PROBE, 1
        return (command, got), ns

    def _reserve(self, name: str, source: int, tag: int) -> Optional["Message"]:
        """A message that nobody else gets, or None.

        An exception may come behind any call, by a signal. Then the message waits in _reserved.
        """
        message = self._left_over(source, tag)
        if message is not None:
            return message
        got, found = ffi.new("struct coll_message *"), ffi.new("int *")
        try:
            with self._calls.inside():
                c = self._comm
                check(lib.coll_improbe(c, source, tag, found, got), name, c)
            return Message(self, got) if found[0] else None
        except BaseException:
            if found[0] and got.source != lib.COLL_RANK_NULL:
                self._reserved[got.id] = got
            raise

    def _left_over(self, source: int, tag: int) -> Optional["Message"]:
        """A message that an earlier call has reserved, or None."""
        for number, got in list(self._reserved.items()):
            if source in (lib.COLL_RANK_ANY, got.source) and tag in (lib.COLL_TAG_ANY, got.tag):
                message = Message(self, got)
                # No call from here on: neither a signal nor another thread comes between.
                if number in self._reserved:
                    del self._reserved[number]
                    return message
        return None

    def _mrecv(self, buf: Array, found: Any):
        got = ffi.new("struct coll_message *")
        args = (vector(buf, "buf", write=True), buf.size, dtype_of(buf.dtype), found.id, got)
        return self._message("mrecv", args, (buf, got), buf, got)


class Message:
    """A message that mprobe() or improbe() reserves. Receive it once: its sender waits until then.

    source, tag, bytes: what it is
    """

    def __init__(self, comm: Messages, found: Any) -> None:
        self._comm, self._found = comm, found
        self.source: int = found.source
        self.tag: int = found.tag
        self.bytes: int = found.bytes

    def recv(self, buf: Array) -> Received:
        """Receives it. Returns as Comm.recv()."""
        return self._comm._call(*self._comm._mrecv(buf, self._found))()

    def irecv(self, buf: Array) -> Request:
        """As recv(), without waiting.

        >>> request = comm.isend(np.array([me]), 1 - me)
        >>> comm.mprobe().irecv(np.empty(1, int)).wait()[0].tolist() == [1 - me]
        True
        >>> request.wait()
        """
        return self._comm._start(*self._comm._mrecv(buf, self._found))
