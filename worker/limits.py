"""Limits on a task's own code, which the judge runs in its own process: time and, on the
CPU, memory. A task that exceeds them cannot be judged, and the others go on.

The time limit is an alarm: it ends Python code and sleeps, not a call that stays inside
C. The memory limit is the soft RLIMIT_DATA for the duration: an allocation above it
fails at once, before a page is touched. What ends the process itself (os._exit, a
stack that overflows in C) is left to the worker, which starts another judge."""

import contextlib
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

AGAIN_S = 5.0  # until the alarm rings once more: code may catch whatever is raised in it
PAGE = resource.getpagesize()
NO_MEMORY = ("DefaultCPUAllocator", "can't allocate memory", "std::bad_alloc")  # torch's words


class Unusable(Exception):
    """The task cannot be judged; the text says why."""


class Exceeded(Unusable):
    """It took more time or memory than it may. That is no statement on the inputs: no
    trial may be left out for it."""


class _Ring(BaseException):
    """What the alarm raises; `except Exception` does not catch it."""


@dataclass
class Limits:
    seconds: float = 60.0  # of one call
    memory: int = 0  # bytes that one trial may add to the process; 0: any
    inside: bool = False  # the memory limit is in force


LIMITS = Limits()


def configure(total_memory: int, seconds: float = 60.0) -> None:
    """`total_memory`: what the machine has for candidates; half of it is for a
    reference and its truth. 0 on CUDA, where the device's own limit counts."""
    LIMITS.memory, LIMITS.seconds = total_memory // 2, seconds


@contextlib.contextmanager
def task_code(what: str) -> Iterator[None]:
    """Around every call of a task's code. Its exceptions pass, but for those that would
    end the judge. `what` starts the reason."""
    with memory(what), duration(what, LIMITS.seconds):
        try:
            yield
        except (Exception, _Ring):
            raise
        except BaseException as problem:  # SystemExit, KeyboardInterrupt
            said = f"{type(problem).__name__}: {problem}".rstrip(": ")
            raise Unusable(f"{what} raises {said}") from None


# ---- time ------------------------------------------------------------------------


class _Alarm:
    """The process's alarm, for as long as nobody else's rings before."""

    def __init__(self, seconds: float) -> None:
        self.on = True
        self.since = time.monotonic()
        self.handler = signal.signal(signal.SIGALRM, self.ring)
        self.left, self.interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)

    def ring(self, *_: object) -> None:
        if self.on:
            raise _Ring

    def end(self) -> None:
        """Gives the alarm back; may be called twice."""
        if not self.on:
            return
        self.on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        if self.left:
            left = self.left - (time.monotonic() - self.since)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3), self.interval)


@contextlib.contextmanager
def duration(what: str, seconds: float) -> Iterator[None]:
    """Exceeded after so many seconds. Inside another alarm the earlier one rings."""
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    if 0 < left <= seconds:
        yield
        return
    alarm = _Alarm(seconds)
    try:
        try:
            yield
        finally:
            alarm.end()
    except _Ring:
        alarm.end()  # it may have rung in the line above
        raise Exceeded(f"{what} did not return within {seconds:g} s") from None


# ---- memory ----------------------------------------------------------------------


def _private() -> int:
    """Bytes of this process that RLIMIT_DATA counts, and its stack."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * PAGE


def is_memory(problem: BaseException) -> bool:
    """The host has, or gives, no more."""
    if isinstance(problem, MemoryError):
        return True
    return isinstance(problem, RuntimeError) and any(s in str(problem) for s in NO_MEMORY)


@contextlib.contextmanager
def memory(what: str) -> Iterator[None]:
    """Exceeded when the process needs that much more than it has now. Inside another
    such limit that one counts."""
    free = not LIMITS.memory or LIMITS.inside
    try:
        with contextlib.nullcontext() if free else _lowered():
            yield
    except (MemoryError, RuntimeError) as problem:
        if not is_memory(problem):
            raise
        allowed = f"than {LIMITS.memory / 2**30:.1f} GiB of memory"
        than = allowed if LIMITS.memory else "memory than there is"
        raise Exceeded(f"{what} needs more {than}") from None


@contextlib.contextmanager
def _lowered() -> Iterator[None]:
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    caps = [limit for limit in (before, hard) if limit != resource.RLIM_INFINITY]
    wanted = min([_private() + LIMITS.memory, *caps])
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    LIMITS.inside = True
    try:
        yield
    finally:
        LIMITS.inside = False
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
