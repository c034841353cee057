"""A worker on its socket, watched from outside: jobs go in when the test says so,
and /proc tells what its processes hold meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from worker_run import ROOT, Job

sys.path.append(str(ROOT / "worker"))

from shared.frames import Broken, Frame, recv_frame, send_frame  # noqa: E402

QUIET_S = 120  # what the last children have to be gone in


@dataclass
class Process:
    """One process of the worker's: what it is, and what it holds."""

    pid: int
    name: str  # worker, judge, or the zygote's scratch folder: its pack
    descriptors: int
    resident: int  # bytes
    used_s: float  # of the processor


class Session:
    def __init__(self, program: Path, home: Path, folder: Path, children: int,
                 options: tuple[str, ...] = ()) -> None:  # fmt: skip
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.log = folder / "log"
        self.socket, theirs = socket.socketpair()
        argv = [str(program), "--home", str(home), "--python", sys.executable, "--children",
                str(children), "--scratch", str(self.scratch), "--cache", "none", *options]  # fmt: skip
        self.pid = os.posix_spawn(
            program, argv, os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.log), os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 3),
            ],
        )  # fmt: skip
        theirs.close()
        self.answers: dict[str, dict] = {}
        self.heard: Callable[[str, dict], None] = lambda id, answer: None  # as answers arrive
        self.infra: dict[str, str] = {}
        self.notes: list[str] = []
        self.ready = False  # a judge has been
        self.logged = 0  # what of the log is from before a test

    def give(self, jobs: list[Job]) -> None:
        """The worker reads at once whatever is sent: it holds the queue."""
        for job in jobs:
            head, _, payload = job.frame().partition(b"\n")
            _, kind, name, deadline, _ = head.decode().split()
            send_frame(self.socket, Frame(kind, name, int(deadline), payload))

    def take(self, timeout_s: float) -> Frame | None:
        """The next frame, or None after that time."""
        if not select.select([self.socket], [], [], timeout_s)[0]:
            return None
        frame = recv_frame(self.socket)
        if frame.kind == "answer":
            self.answers[frame.id] = json.loads(frame.payload)
            self.heard(frame.id, self.answers[frame.id])
        elif frame.kind == "infra":
            self.infra[frame.id] = frame.text()
        elif frame.kind == "note":
            self.notes.append(frame.text())
        elif frame.kind == "ready":
            self.ready = True
        return frame

    def run(self, jobs: list[Job], window: int, timeout_s: float = 300) -> None:
        """All of them, `window` at the worker at once, until each is answered. The
        time is for one answer, not for all."""
        left = list(reversed(jobs))
        wanted = {job.id for job in jobs}
        while wanted - self.answers.keys() - self.infra.keys():
            under_way = len(jobs) - len(left) - len(wanted & (self.answers.keys() | self.infra.keys()))
            self.give([left.pop() for _ in range(min(len(left), window - under_way))])
            assert self.take(timeout_s) is not None, f"no frame in {timeout_s} s"

    # ---- what its processes hold ----

    def processes(self) -> list[Process]:
        """The worker, its servers and whatever descends from them."""
        parents = dict(_parents())
        known = {self.pid}
        while more := {p for p, parent in parents.items() if parent in known} - known:
            known |= more
        return [p for pid in sorted(known) if (p := _look(pid, self.pid))]

    def named(self, name: str) -> Process:
        found = [p for p in self.processes() if p.name == name]
        assert len(found) == 1, f"{len(found)} processes are called {name}"
        return found[0]

    def quiet(self) -> list[Process]:
        """The processes once every child is gone: judge, zygotes and the worker. An
        answer may come before its child is reaped, and the worker hears of that last:
        two looks must be alike."""
        until = time.monotonic() + QUIET_S
        last: list[tuple[int, int]] = []
        while True:
            now = self.processes()
            held = [(p.pid, p.descriptors) for p in now]
            if held == last and not any(p.name == "child" for p in now):
                return now
            assert time.monotonic() < until, f"left running: {now}"
            last = held
            time.sleep(0.05)

    def leave(self) -> int:
        """Says bye; the exit status."""
        send_frame(self.socket, Frame("bye"))
        with contextlib.suppress(Broken):
            while self.take(60):
                pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Where the test failed the worker may still run: it ends with its socket."""
        self.socket.close()
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                os.kill(self.pid, signal.SIGTERM)
                os.waitpid(self.pid, 0)


def _parents() -> list[tuple[int, int]]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found.append((int(folder.name), int(fields[1])))
    return found


def _look(pid: int, worker: int) -> Process | None:
    folder = Path(f"/proc/{pid}")
    try:
        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        resident = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        count = len(os.listdir(folder / "fd"))
    except OSError:
        return None
    name = next((Path(w).stem for w in words if w.endswith(".py")), words[0])
    if pid == worker:
        name = "worker"
    elif int(fields[1]) != worker:
        name = "child"
    elif name == "zygote":
        name = Path(words[words.index("--scratch") + 1]).name
    used = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return Process(pid, name, count, resident, used)
