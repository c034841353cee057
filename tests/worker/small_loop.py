"""Jobs of the judge's without a worker: real generators of steps, driven one at a time, and
real zygotes, whose children record, compile, interpret and run without a box. So a test
sees a record, and may look at any step on the way."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

import torch  # noqa: E402
from judge import runner, verdict  # noqa: E402
from judge.builds import Builds  # noqa: E402
from judge.steps import Ask, Baseline, End, Forged, Fork, Gone  # noqa: E402
from shared.frames import (  # noqa: E402
    MAX_MESSAGE,
    Broken,
    Frame,
    _send,
    recv_frame,
    recv_message,
    send_frame,
    send_message,
)

BOXED = {"box": "full"}  # what a record is written for: evidence does not end at E2
WAIT_S = 300


class Zygote:
    """One process for all tests, until this one ends."""

    def __init__(self, pack: str, mode: str) -> None:
        self.scratch = tempfile.mkdtemp(prefix="zygote-")
        os.chmod(self.scratch, 0o755)
        self.control, theirs = socket.socketpair()
        argv = [sys.executable, "-B", str(ROOT / "worker" / "zygote.py"), "--home", str(ROOT),
                "--pack", str(ROOT / "packs" / pack), "--device", "cpu", "--box", "none",
                "--scratch", self.scratch, "--mode", mode]  # fmt: skip
        self.process = subprocess.Popen(
            argv, preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False
        )
        theirs.close()
        self.children = 0
        self.ends: dict[str, str] = {}
        self.keepers: dict[str, int] = {}  # descriptors of the processes that keep children
        atexit.register(self.close)
        assert recv_frame(self.control).kind == "ready"

    def fork(self) -> Child:
        self.hear(0)
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        self.children += 1
        name = f"child-{self.children}"
        send_frame(self.control, Frame("fork", name, 0, b"0", [theirs.fileno(), write]))
        theirs.close()
        os.close(write)
        return Child(self, name, ours, read)

    def hear(self, wait_s: float) -> bool:
        """What it says of its children; a zygote that nobody hears would wait for ever."""
        heard = False
        while select.select([self.control], [], [], 0 if heard else wait_s)[0]:
            frame, heard = recv_frame(self.control), True
            if frame.kind == "forked":
                self.keepers[frame.id] = frame.fds.pop()
            for fd in frame.fds:
                os.close(fd)
            if frame.kind == "exited":
                self.ends[frame.id] = frame.text().partition("\n")[0]
                os.close(self.keepers.pop(frame.id))
        return heard

    def ended(self, name: str) -> str:
        """How that child ended, once it has."""
        while name not in self.ends:
            assert self.hear(WAIT_S), f"{name} does not end"
        return self.ends[name]

    def end(self, name: str) -> None:
        """As the worker ends a child: its keeper kills it."""
        while name not in self.ends and name not in self.keepers:
            assert self.hear(WAIT_S), f"{name} is not forked"
        if name in self.keepers:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.keepers[name], signal.SIGTERM)

    def close(self) -> None:
        self.control.shutdown(socket.SHUT_WR)
        with contextlib.suppress(Broken, OSError):
            while True:  # ends of children that nobody asked for
                recv_frame(self.control)
        self.process.wait(WAIT_S)
        shutil.rmtree(self.scratch, ignore_errors=True)


class Child:
    def __init__(self, zygote: Zygote, name: str, sock: socket.socket, output: int) -> None:
        self.zygote, self.name, self.sock, self.output = zygote, name, sock, output
        sock.settimeout(WAIT_S)

    def ask(self, message: dict | bytes, fds: list[int]) -> dict | bytes:
        try:
            if isinstance(message, dict):
                send_message(self.sock, message, fds)
                return recv_message(self.sock, MAX_MESSAGE)[0]
            _send(self.sock, message, fds)
            if data := self.sock.recv(runner.ANSWER_BYTES, socket.MSG_WAITALL):
                return data
        except (Broken, ConnectionError):
            pass
        raise Gone(self.zygote.ended(self.name), os.read(self.output, 1 << 16).decode())

    def pids(self) -> list[int]:
        """Of the processes under its zygote: its keeper and itself, and who is not reaped yet."""
        found, new = set(), {self.zygote.process.pid}
        while new:
            kept = [Path(f"/proc/{pid}/task/{pid}/children") for pid in new]
            new = {int(n) for path in kept if path.exists() for n in path.read_text().split()} - found
            found |= new
        return sorted(found)

    def close(self) -> None:
        """Killed, not only left: without a box nobody else ends a kernel that does not."""
        self.sock.close()
        os.close(self.output)
        self.zygote.end(self.name)


_zygotes: dict[str, Zygote] = {}


def zygote(name: str) -> Zygote:
    """As steps name it: PACK or PACK+MODE."""
    if name not in _zygotes:
        pack, _, mode = name.partition("+")
        _zygotes[name] = Zygote(pack, mode or "record")
    return _zygotes[name]


class Loop:
    """Does what a job's generator asks for. `asked` has every step, in order."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.asked: list[object] = []
        self.forked: list[str] = []
        # A test may answer in the child's place: None leaves it to the child.
        self.instead: Callable[[Ask], dict | bytes | None] = lambda wanted: None

    def run(self, steps: Generator) -> object:
        value: object = None
        try:
            while True:
                wanted = steps.throw(value) if isinstance(value, Exception) else steps.send(value)
                self.asked.append(wanted)
                try:
                    value = self.step(wanted)
                except (Gone, Forged) as problem:
                    value = problem
        except StopIteration as end:
            return end.value
        finally:
            self.drop()

    def step(self, wanted: object) -> object:
        if isinstance(wanted, Fork):
            self.drop()
            self.forked.append(wanted.zygote)
            self.child = zygote(wanted.zygote).fork()
        elif isinstance(wanted, Ask):
            said = self.instead(wanted)
            return self.child.ask(wanted.message, wanted.fds) if said is None else said
        elif isinstance(wanted, End):
            self.drop()
        elif isinstance(wanted, Baseline):
            return {"ms": None, "why": "not in this loop"}
        return None

    def drop(self) -> None:
        if self.child is not None:
            self.child.close()
            self.child = None


def make_job(task: str, candidate: str, pack: str = "triton", **more: object) -> dict:
    """Both are texts; the seed is the same for the same ones."""
    family = json.loads((ROOT / "packs" / pack / "pack.json").read_text())["run"].get("family")
    return {
        "kind": "verify", "pack": pack, "family": family, "device": "cpu", "precision": "fp32",
        "protocol": "hardened", "timing": False, "candidate": candidate,
        "task": {"id": "tests/task", "source": task, "sidecar": {}},
        "seed": hashlib.sha256((task + candidate).encode()).hexdigest(),
        "deadlines": {"load_ms": 60000, "call_ms": 60000, "timing_ms": 20000},
        "limits": {"memory_bytes": 0}, **more,
    }  # fmt: skip


OPTIONS = SimpleNamespace(memory=0, total_memory=0)


def verify(task: str, candidate: str, pack: str = "triton", loop: Loop | None = None,
           builds: Builds | None = None, **more: object) -> dict:  # fmt: skip
    """The record of a candidate, as a worker's judge makes it."""
    torch.set_num_threads(1)
    job = make_job(task, candidate, pack, **more)
    return (loop or Loop()).run(verdict.run_job(job, BOXED, builds or Builds(None), OPTIONS))


def said(record: dict) -> tuple:
    """What a test asks for most: verdict, rule, evidence."""
    return record["verdict"], record["rule"], record["evidence"]
