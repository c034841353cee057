"""Frames between worker, judge and zygote; messages between judge and candidate.

docs/PROTOCOL.md is the contract. Both kinds may carry descriptors, which travel
with the first byte. Everything read is bounded before it is kept.
"""

import array
import collections
import json
import os
import re
import select
import socket
import struct
from dataclasses import dataclass, field
from json import dumps, loads
from os import write

CONTROL = 3  # the descriptor of a server's socket to the worker
MAX_PAYLOAD = 64 << 20
MAX_MESSAGE = 1 << 20
HEADER_BYTES = 300
HEADER = re.compile(
    rb"monkeys/1 ([a-z]+) ([A-Za-z0-9._:/-]{1,200}) (\d{1,15}) (\d{1,9})$"
)


class Broken(Exception):
    """The peer is gone, or said something that is not a frame."""


@dataclass
class Frame:
    kind: str
    id: str = "-"
    deadline_ms: int = 0
    payload: bytes = b""
    fds: list[int] = field(default_factory=list)

    def text(self) -> str:
        return self.payload.decode("utf-8", "replace")

    def json(self) -> dict:
        return json.loads(self.payload)


def _recv(sock: socket.socket, n: int, fds: list[int]) -> bytes:
    """Exactly n bytes; descriptors that come along are appended to fds."""
    parts = []
    while n:
        try:
            data, extra, _, _ = sock.recvmsg(min(n, 1 << 20), socket.CMSG_SPACE(4 * 4))
        except ConnectionError as problem:  # it left without reading all that we said
            raise Broken(str(problem)) from None
        for level, kind, raw in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                got = array.array("i")
                got.frombytes(raw[: len(raw) - len(raw) % got.itemsize])
                for fd in got:
                    os.set_inheritable(fd, False)
                fds.extend(got)
        if not data:
            raise Broken("the connection ended")
        parts.append(data)
        n -= len(data)
    return b"".join(parts)


def _send(sock: socket.socket, data: bytes, fds: list[int]) -> None:
    if fds:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        sent = sock.sendmsg([data], rights)
        data = data[sent:]
    while data:
        data = data[write(sock.fileno(), data) :]


def send_frame(sock: socket.socket, frame: Frame) -> None:
    head = f"monkeys/1 {frame.kind} {frame.id} {frame.deadline_ms} {len(frame.payload)}\n"
    _send(sock, head.encode() + frame.payload, frame.fds)


def _ahead(sock: socket.socket) -> int:
    """How many bytes to take of a header line: up to its end, where that has come."""
    try:
        there = sock.recv(HEADER_BYTES, socket.MSG_PEEK)
    except ConnectionError as problem:
        raise Broken(str(problem)) from None
    return (there.find(b"\n") + 1) or len(there) or 1


def recv_frame(sock: socket.socket) -> Frame:
    fds: list[int] = []
    line = b""
    while not line.endswith(b"\n"):
        if len(line) > HEADER_BYTES:
            raise Broken("a header line without an end")
        line += _recv(sock, _ahead(sock), fds)
    match = HEADER.match(line[:-1])
    if not match:
        raise Broken(f"not a frame: {line[:80]!r}")
    size = int(match[4])
    if size > MAX_PAYLOAD:
        raise Broken(f"a payload of {size} bytes")
    return Frame(
        match[1].decode(), match[2].decode(), int(match[3]), _recv(sock, size, fds), fds
    )


def send_message(sock: socket.socket, message: dict, fds: list[int] | None = None) -> None:
    data = dumps(message).encode()
    _send(sock, len(data).to_bytes(4, "little") + data, fds or [])


def recv_message(sock: socket.socket, limit: int) -> tuple[dict, list[int]]:
    """One message of at most `limit` bytes and the descriptors with it."""
    fds: list[int] = []
    size = int.from_bytes(_recv(sock, 4, fds), "little")
    if size > limit:
        raise Broken(f"a message of {size} bytes")
    return _parsed(_recv(sock, size, fds)), fds


def _parsed(data: bytes | bytearray) -> dict:
    try:
        message = loads(data)
    except (ValueError, RecursionError) as problem:
        raise Broken(f"a message that is not JSON: {problem}") from None
    if not isinstance(message, dict):
        raise Broken("a message that is not an object")
    return message


CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


def sender(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    """The process that sent a message, as the kernel says (SO_PASSCRED)."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return CREDENTIALS.unpack(data[: CREDENTIALS.size])[0] or None
    return None


class Closed(Broken):
    """The peer has closed its end."""


class Channel:
    """The judge's end of a candidate's socket. Nothing here waits: half a message
    stays until the rest comes, and what the peer does not read stays too. The
    kernel drops descriptors that the peer sends along, since there is no room for any."""

    CHUNK = 1 << 16

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.peer: int | None = None  # the process that spoke last
        self.incoming = bytearray()
        self.outgoing: collections.deque[tuple[bytes, list[int]]] = collections.deque()

    def fileno(self) -> int:
        return self.sock.fileno()

    def close(self) -> None:
        self.sock.close()
        for _, fds in self.outgoing:
            for fd in fds:
                os.close(fd)
        self.outgoing.clear()

    def put(self, message: dict | bytes, fds: list[int]) -> None:
        """To be sent as the peer reads it; the descriptors stay the caller's. Bytes have
        their length in front already."""
        if not isinstance(message, bytes):
            data = dumps(message).encode()
            message = len(data).to_bytes(4, "little") + data
        self.outgoing.append((message, [os.dup(fd) for fd in fds]))

    def flush(self) -> None:
        """Sends what the peer takes now. Raises OSError when it is gone."""
        while self.outgoing:
            data, fds = self.outgoing[0]
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            try:
                sent = self.sock.sendmsg([data], rights)
            except BlockingIOError:
                return
            for fd in fds:
                os.close(fd)
            if sent < len(data):
                self.outgoing[0] = (data[sent:], [])
            else:
                self.outgoing.popleft()

    def readable(self) -> bool:
        """Whether there is something to take, the end included."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(0))

    def fill(self) -> None:
        """Takes what has come. Raises Closed at the end of the connection."""
        try:
            space = socket.CMSG_SPACE(CREDENTIALS.size)
            data, ancillary, _, _ = self.sock.recvmsg(self.CHUNK, space)
        except BlockingIOError:
            return
        except OSError as problem:
            raise Closed(str(problem)) from None
        if not data:
            raise Closed("the connection ended")
        self.peer = sender(ancillary)
        self.incoming += data

    def message(self, limit: int, raw: bool = False) -> dict | bytes | None:
        """The next whole message, or None. `raw`: as bytes, its length in front."""
        if len(self.incoming) < 4:
            return None
        size = int.from_bytes(self.incoming[:4], "little")
        if size > limit:
            raise Broken(f"a message of {size} bytes")
        if len(self.incoming) < 4 + size:
            return None
        whole = bytes(self.incoming[: 4 + size])
        del self.incoming[: 4 + size]
        return whole if raw else _parsed(whole[4:])
