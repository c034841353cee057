"""Frames between worker, judge and zygote; messages between judge and candidate.

docs/PROTOCOL.md is the contract. Both kinds may carry descriptors, which travel
with the first byte. Everything read is bounded before it is kept.
"""

import array
import json
import os
import re
import socket
from dataclasses import dataclass, field

MAX_PAYLOAD = 64 << 20
MAX_MESSAGE = 1 << 20
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
        data, extra, _, _ = sock.recvmsg(min(n, 1 << 20), socket.CMSG_SPACE(4 * 4))
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
    sock.sendall(data)


def send_frame(sock: socket.socket, frame: Frame) -> None:
    head = f"monkeys/1 {frame.kind} {frame.id} {frame.deadline_ms} {len(frame.payload)}\n"
    _send(sock, head.encode() + frame.payload, frame.fds)


def recv_frame(sock: socket.socket) -> Frame:
    fds: list[int] = []
    line = b""
    while not line.endswith(b"\n"):
        if len(line) > 300:
            raise Broken("a header line without an end")
        line += _recv(sock, 1, fds)
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
    data = json.dumps(message).encode()
    _send(sock, len(data).to_bytes(4, "little") + data, fds or [])


def recv_message(sock: socket.socket, limit: int) -> tuple[dict, list[int]]:
    """One message of at most `limit` bytes and the descriptors with it."""
    fds: list[int] = []
    size = int.from_bytes(_recv(sock, 4, fds), "little")
    if size > limit:
        raise Broken(f"a message of {size} bytes")
    try:
        message = json.loads(_recv(sock, size, fds))
    except (ValueError, RecursionError) as problem:
        raise Broken(f"a message that is not JSON: {problem}") from None
    if not isinstance(message, dict):
        raise Broken("a message that is not an object")
    return message, fds
