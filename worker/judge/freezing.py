"""Stops a process that runs a candidate's library while the judge reads its results, so that a
thread left behind by the library cannot change them. The kernel says which process sent an answer
(SCM_CREDENTIALS), and once a library is loaded in a box, no process there can start another
(src/runner/drop.c)."""

import contextlib
import os
import signal
import time
from pathlib import Path

from judge.steps import NoChild

PATIENCE_S = 20.0  # a thread stops when it leaves the kernel
STOPPED = frozenset("TtZX")  # as /proc says it: stopped, or dead


def stop(pid: int) -> None:
    """Returns when none of its threads runs."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + PATIENCE_S
    while not _stopped(pid):
        if time.monotonic() > until:
            raise NoChild("a runner could not be stopped: one of its threads hangs in the kernel")
        time.sleep(0.0002)


def resume(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _stopped(pid: int) -> bool:
    states = []
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            states.append(task.read_text().rpartition(")")[2].split()[0])
    return STOPPED.issuperset(states)
