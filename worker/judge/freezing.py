"""A process in which a candidate's library runs is stopped while the judge reads what it wrote:
a thread that the library left behind cannot change it any more. The kernel itself says which
process an answer came from (SCM_CREDENTIALS), and no process of a box can start another one
once a library is loaded there (src/runner/drop.c)."""

import contextlib
import os
import signal
import time
from pathlib import Path

from judge.steps import NoChild

PATIENCE_S = 20.0  # a thread stops when it leaves the kernel
STOPPED = frozenset("TtZX")  # as /proc says it: stopped, or dead


def stop(pid: int) -> None:
    """Returns when no thread of it runs."""
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
