"""Limits on a task's own code, which the judge runs in its own process: time and, on the
CPU, memory. A task that exceeds them cannot be judged, and the others go on.

The time limit is an alarm: it interrupts Python code and sleeps, but not a call that stays in
C. Time spent waiting for a processor does not count, so that a busy machine makes no task
unusable. Code that only waits gets less time, because the worker assumes that a judge hangs if
it uses no processor time. The memory limit is the soft RLIMIT_DATA: an allocation above it fails
at once, before a page is touched. If the process itself ends (os._exit, a stack overflow in C),
the worker starts another judge, and knows by `note` whose code it was (judge/blame.py)."""

import contextlib
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LOOK_S = 1.0  # between two looks at what runs
IDLE_S = 5.0  # without progress; the worker's own patience is 10 s
PROGRESS_S = 0.02  # of processor time
PAGE = resource.getpagesize()
NO_MEMORY = ("DefaultCPUAllocator", "can't allocate memory", "std::bad_alloc")  # torch's words


class Unusable(Exception):
    """The task cannot be judged; the text says why."""


class Exceeded(Unusable):
    """It took more time or memory than it may. That is no statement on the inputs: no
    trial may be left out for it."""


class _Ring(BaseException):
    """What the alarm raises; `except Exception` does not catch it."""

    def __init__(self, limit: "_Duration", why: str) -> None:
        super().__init__(why)
        self.limit, self.why = limit, why


@dataclass
class Limits:
    seconds: float = 60.0  # of one call
    memory: int = 0  # bytes that one trial may add to the process; 0: any
    inside: bool = False  # the memory limit is in force
    runs: bool = False  # a task's code does
    note: Callable[[bool], None] | None = None  # called when a task's code begins and has ended


LIMITS = Limits()


def configure(total_memory: int, seconds: float = 60.0) -> None:
    """`total_memory`: what the machine has for candidates; half of it is for a
    reference and its truth. 0 on CUDA, where the device's own limit counts."""
    LIMITS.memory, LIMITS.seconds = total_memory // 2, seconds


@contextlib.contextmanager
def task_code(what: str) -> Iterator[None]:
    """Around every call of a task's code. Its exceptions pass, but for those that would
    end the judge. `what` starts the reason."""
    with running(), memory(what), duration(what, LIMITS.seconds):
        try:
            yield
        except (Exception, _Ring):
            raise
        except BaseException as problem:  # SystemExit, KeyboardInterrupt
            said = f"{type(problem).__name__}: {problem}".rstrip(": ")
            raise Unusable(f"{what} raises {said}") from None


@contextlib.contextmanager
def running() -> Iterator[None]:
    """A task's code runs inside."""
    outer, LIMITS.runs = LIMITS.runs, True
    note = LIMITS.note or (lambda runs: None)
    note(True)
    try:
        yield
    finally:
        LIMITS.runs = outer
        note(outer)


# ---- time ------------------------------------------------------------------------


def own_time() -> float:
    """Seconds by the clock, less those in which the main thread could not run because others
    had the processors."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            waited = int(file.read().split()[1])
    except OSError:  # not every kernel counts it
        waited = 0
    return time.monotonic() - waited / 1e9


class _Duration:
    """One limit; several may be in force, one inside the other."""

    def __init__(self, what: str, seconds: float) -> None:
        self.what, self.seconds = what, seconds
        self.began = own_time()

    def left(self) -> float:
        return self.seconds - (own_time() - self.began)

    def why(self) -> str:
        return f"{self.what} did not return within {self.seconds:g} s"


class _Alarm:
    """The process's alarm, from the first limit in force to the last."""

    def __init__(self) -> None:
        self.limits: list[_Duration] = []
        self.idle = 0.0  # seconds since the last progress
        self.looked = self.used = 0.0  # when, and the processor time at the last progress

    def push(self, limit: _Duration) -> None:
        self.idle, self.looked, self.used = 0.0, time.monotonic(), time.process_time()
        if not self.limits:
            self.started = time.monotonic()
            self.handler = signal.signal(signal.SIGALRM, self.ring)
            self.left, self.interval = signal.getitimer(signal.ITIMER_REAL)
        self.limits.append(limit)
        self.wind()

    def pop(self, limit: _Duration) -> None:
        """May be called twice."""
        if limit not in self.limits:
            return
        self.limits.remove(limit)
        if self.limits:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        if self.left:  # somebody else's
            left = self.left - (time.monotonic() - self.started)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3), self.interval)

    def wind(self) -> None:
        left = min(limit.left() for limit in self.limits)
        signal.setitimer(signal.ITIMER_REAL, min(max(left, 1e-3), LOOK_S), LOOK_S)

    def look(self, now: float, used: float) -> None:
        """A look counts for little: who was stopped for an hour has not waited for one."""
        self.idle += min(now - self.looked, 2 * LOOK_S)
        self.looked = now
        if used - self.used >= PROGRESS_S:
            self.idle, self.used = 0.0, used

    def ring(self, *_: object) -> None:
        """Rings again if this is caught: code may catch whatever is raised in it."""
        self.look(time.monotonic(), time.process_time())
        over = [limit for limit in self.limits if limit.left() <= 0]
        if over:
            raise _Ring(over[0], over[0].why())
        if self.limits and self.idle >= IDLE_S:
            limit = self.limits[-1]
            raise _Ring(limit, f"{limit.what} waits: no processor time used in {IDLE_S:g} s")
        if self.limits:
            self.wind()


_alarm = _Alarm()


@contextlib.contextmanager
def duration(what: str, seconds: float) -> Iterator[None]:
    """Exceeded after so many seconds, or when nothing is computed for a while."""
    limit = _Duration(what, seconds)
    try:
        try:
            _alarm.push(limit)
            yield
        finally:
            _alarm.pop(limit)
    except _Ring as ring:
        _alarm.pop(limit)  # it may have rung in the line above
        if ring.limit is not limit:
            raise
        raise Exceeded(ring.why) from None


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
