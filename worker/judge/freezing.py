"""Stops a process that runs a candidate's library whenever it is not asked for something: no thread
that the library left behind changes results while the judge reads them, or reads inputs before the
clock has started. The kernel says which process sent an answer (SCM_CREDENTIALS), and once a
library is loaded in a box, no process there can start another (src/runner/drop.c).

It has no timer that could send it SIGCONT, either. Should something wake it all the same, then the
processor time that it has used when it stands is not what it has used when it may continue."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from judge.steps import Forged, NoChild

PATIENCE_S = 20.0  # a thread stops when it leaves the kernel
STOPPED = frozenset("TtZX")  # as /proc says it: stopped, or dead
# Leaving a processor may be booked after the state: a tick later, on a busy virtual machine more.
SLACK_NS = 20_000_000


@dataclass(frozen=True)
class Stopped:
    pid: int
    used_ns: int  # processor time of all its threads
    stood: float  # when it had nothing more to run, by time.monotonic()

    def resume(self) -> None:
        """Raises Forged if it ran in the meantime."""
        used = _used_ns(self.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        if used - self.used_ns > SLACK_NS:
            raise Forged("it ran while it was stopped")


def stop(pid: int) -> Stopped:
    """Returns when none of its threads runs. What they still compute counts by their processor time
    if that is less than the time until we see them stand, which takes longer than many kernels."""
    since, before = time.monotonic(), _used_ns(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    while not _stopped(pid):
        waited = time.monotonic() - since
        if waited > PATIENCE_S:
            if "D" not in _states(pid):
                raise Forged("it does not stop")
            raise NoChild("a runner could not be stopped: one of its threads hangs in the kernel")
        time.sleep(0.0002)
    used = _used_ns(pid)
    return Stopped(pid, used, min(time.monotonic(), since + max(0, used - before) / 1e9))


def _used_ns(pid: int) -> int:
    """By the clock that clock_getcpuclockid() names; 0 if it has ended."""
    with contextlib.suppress(OSError):
        return time.clock_gettime_ns(~pid << 3 | 2)
    return 0


def _stopped(pid: int) -> bool:
    return STOPPED.issuperset(_states(pid))


def _states(pid: int) -> list[str]:
    states = []
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            states.append(task.read_text().rpartition(")")[2].split()[0])
    return states
