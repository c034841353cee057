"""monkeys-runner as a judge meets it, outside its box: a process with a socket, and a
region of shared memory with tensors in it."""

from __future__ import annotations

import array
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

from judge import runner  # noqa: E402
from shared.program import Node, Place, Program  # noqa: E402

PROGRAM = ROOT / "monkeys-runner"
GUARD = 256


class Gone(Exception):
    """The runner ended without an answer."""


def aligned(n: int) -> int:
    return -(-n // GUARD) * GUARD


def memory(data: bytes) -> int:
    """A descriptor of memory that holds `data`."""
    fd = os.memfd_create("program")
    os.write(fd, data)
    return fd


class Region:
    """Shared memory that tensors are laid out in, one behind the other, with room
    between them; all of it starts as 0xFF."""

    def __init__(self, size: int = 1 << 20) -> None:
        self.size, self.end = size, GUARD
        self.fd = os.memfd_create("region")
        os.truncate(self.fd, size)
        self.bytes = torch.from_file(f"/proc/self/fd/{self.fd}", True, size, dtype=torch.uint8)
        self.bytes.fill_(255)

    def close(self) -> None:
        del self.bytes
        os.close(self.fd)

    def room(self, size: int) -> int:
        at = self.end
        self.end = aligned(at + size) + GUARD
        assert self.end <= self.size
        return at

    def put(self, t: torch.Tensor) -> Place:
        """Lays out all of a tensor's storage; the place is the tensor's in there."""
        raw = torch.tensor([], dtype=torch.uint8).set_(t.untyped_storage())
        start = self.room(raw.numel())
        self.bytes[start : start + raw.numel()] = raw
        at = start + t.storage_offset() * t.element_size()
        return Place(at, name(t.dtype), tuple(t.shape), tuple(t.stride()))

    def empty(self, dtype: torch.dtype, shape: tuple[int, ...]) -> Place:
        t = torch.empty(shape, dtype=dtype, device="meta")
        return Place(self.room(t.numel() * t.element_size()), name(dtype), shape, t.stride())

    def tensor(self, p: Place) -> torch.Tensor:
        """The memory itself, seen as the place says."""
        dtype = getattr(torch, p.dtype)
        whole = self.bytes[: self.size - self.size % 8].view(dtype)
        return whole.as_strided(p.shape, p.strides, p.at // whole.element_size())


def name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Client:
    """A started runner; `before` is a command that starts it."""

    def __init__(
        self, device: str = "cpu", before: list[str] | None = None, **environment: str
    ) -> None:
        ours, theirs = socket.socketpair()
        self.sock = ours
        self.process = subprocess.Popen(
            [*(before or []), str(PROGRAM.resolve()), "--device", device],
            preexec_fn=lambda: os.dup2(theirs.fileno(), 3),
            close_fds=False,
            env={**os.environ, **environment},
        )
        theirs.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sock.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()

    def ask(self, request: bytes, fds: list[int] | None = None) -> runner.Done:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([request], rights)
        data = b""
        while len(data) < runner.ANSWER_BYTES:
            try:
                more = self.sock.recv(runner.ANSWER_BYTES - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                raise Gone(data)
            data += more
        return runner.parse_answer(data)

    def load_bytes(self, data: bytes, region_fd: int, region_bytes: int) -> runner.Done:
        fd = memory(data)
        try:
            return self.ask(runner.load_request(len(data), region_bytes), [fd, region_fd])
        finally:
            os.close(fd)

    def load(self, program: Program, region: Region) -> runner.Done:
        return self.load_bytes(runner.encode(program), region.fd, region.size)

    def run(self, call: int = 0, **flags: bool) -> runner.Done:
        return self.ask(runner.run_request(call, **flags))

    def unload(self) -> runner.Done:
        return self.ask(runner.unload_request())

    def do(self, region: Region, *nodes: Node) -> runner.Done:
        """One program of one call of moves, from its loading to its unloading."""
        done = self.load(Program((), (), (nodes,)), region)
        if done.status == runner.Status.DONE:
            done = self.run()
            self.unload()
        return done
