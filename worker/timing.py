"""How long a correct kernel takes, alone on the device, and what it is compared with:
the eager reference and torch.compile's, each measured once for a task and precision.

A repetition is a call like any other. The candidate's process keeps a copy of its
output, and the judge asks for it afterwards, or does not: nobody can know before."""

import contextlib
import copy
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Iterator

import answers
import clock
import feedback
import inputs
import torch
import truth
from calls import Progress, Verdict, fail_on_error, judge_trial, since, take
from steps import Ask, Exclusive

COMPILE_S = 240  # what torch.compile may take for a task


class Looks:
    """Which repetitions are looked at, with the reference kept in step. A reference
    whose output depends on the calls before goes along with every one of them."""

    def __init__(self, job: dict, pair: truth.Pair, p: Progress, buffer, places: dict) -> None:
        self.job, self.pair, self.p, self.buffer, self.places = job, pair, p, buffer, places
        self.along = pair.remembers(inputs.derive(job["seed"], "timing"))
        self.in_step = True
        self.count = 0

    def look(self, seed: int, last: bool, deadline_ms: int) -> Generator:
        """At the repetition that has just been made, or not: always at the first
        and the last, at others by chance."""
        wanted = last or self.count == 0 or secrets.randbelow(clock.CHECK_ONE_IN) == 0
        self.count += 1
        if not self.in_step or not (wanted or self.along):
            return
        try:
            expected = self.pair.expect(seed, "plain")
        except truth.Unusable:  # the reference has no answer to these inputs
            self.in_step = not self.along
            return
        if wanted and expected.exact():
            got = yield from outputs(self.buffer, self.places, self.p, deadline_ms)
            judge_trial(self.job, self.p, got, expected, "plain", None)
            self.p.trials.pop()


def outputs(buffer, places: dict, p: Progress, deadline_ms: int) -> Generator:
    """What the last repetition returned."""
    buffer.fill()
    message = {"op": "output", "bytes": buffer.size, **places}
    fail_on_error((yield Ask(message, deadline_ms, [buffer.fd])), p)
    return [take(buffer, place) for place in places["outputs"]]


def question(seed: int, single: bool, empty: bool = False, mute: bool = False) -> dict:
    return {"op": "time", "empty": empty, "mute": mute, "seed": seed, "single": single}


def measure(job: dict, pair: truth.Pair, p: Progress, buffer, places: dict) -> Generator:
    """A timing that cannot be believed is void; the verdict stays, unless the output
    of a timed call is wrong."""
    yield Exclusive()
    p.stage = "timing"
    started = time.monotonic()
    looks = Looks(job, pair, p, buffer, places)
    told: list[float] = []
    seen: list[float] = []
    empties: list[float] = []
    warm, done, short = 0.0, False, False
    while not done:
        empty = len(empties) < 3
        done = clock.enough(told) or short
        seed = inputs.derive(job["seed"], f"timing-{len(told)}-{warm}")
        left = max(1, job["deadlines"]["timing_ms"] - int(since(started)))
        before = time.monotonic()
        answer = yield Ask(question(seed, places["single"], empty), left)
        waited = (time.monotonic() - before) * 1e3
        fail_on_error(answer, p)
        ms = answers.milliseconds(answer)
        if empty:
            empties.append(waited)
            continue
        if not answers.launched(answer):
            raise Verdict("hack", "timing", "A timed call launched no kernel.", "no-launch")
        yield from looks.look(seed, done, left)
        # Slow is not wrong: there must be time for the last one.
        short = job["deadlines"]["timing_ms"] - since(started) < 3 * since(before)
        if warm < clock.WARM_MS and not short:
            warm += max(ms, 1e-3, waited / 10)
        elif not done:
            told.append(ms)
            seen.append(waited)
    cost = inputs_cost(pair) + copy_cost(buffer) + min(*empties, clock.EMPTY_MS)
    p.timing = {
        "ms": clock.summary(told),
        "reference_ms": reference_time(job, pair),
        "compile_ms": None,
        "compile_why": "not measured",
        "void": clock.disagreement(told, seen, cost),
    }
    p.times["timing"] = since(started)


def copy_cost(buffer) -> float:
    """What keeping the outputs of one repetition costs, in milliseconds."""
    start = time.monotonic()
    buffer.fill()
    return (time.monotonic() - start) * 3e3


def inputs_cost(pair: truth.Pair) -> float:
    """What making the inputs of one repetition costs, in milliseconds."""
    costs = []
    for i in range(3):
        start = time.monotonic()
        inputs.make(pair.r.space, i, "plain", pair.r.device, pair.r.dtype)
        if pair.r.device != "cpu":
            torch.cuda.synchronize()
        costs.append((time.monotonic() - start) * 1e3)
    return min(costs) * 2


# ---- what it is compared with ------------------------------------------------------

# By task, precision and device. Versions are those of this process.
_reference_times: dict[tuple, dict] = {}
_compile_times: dict[tuple, tuple[dict | None, str | None]] = {}


def _key(job: dict) -> tuple:
    return job["task"]["source"], job["precision"], job["device"]


def reference_time(job: dict, pair: truth.Pair) -> dict:
    """The eager reference."""
    if _key(job) not in _reference_times:
        _reference_times[_key(job)] = sampled(pair, copy.deepcopy(pair.eager))
    return _reference_times[_key(job)]


def sampled(pair: truth.Pair, call: Callable) -> dict:
    watch = clock.Stopwatch(pair.r.device)
    args = inputs.make(pair.r.space, 1, "plain", pair.r.device, pair.r.dtype)
    samples: list[float] = []
    with torch.no_grad():
        for _ in range(3):
            watch.run(lambda: call(*args))
        while not clock.enough(samples):
            samples.append(watch.run(lambda: call(*args))[0])
    return clock.summary(samples)


def compiled_time(job: dict, pair: truth.Pair) -> tuple[dict | None, str | None]:
    """The reference under torch.compile, or why there is no such figure. It takes long:
    to be called when no child waits. On the CPU only where the job asks for it."""
    if job["device"] == "cpu" and not job.get("compile_baseline"):
        return None, "not measured on the CPU"
    if _key(job) not in _compile_times:
        _compile_times[_key(job)] = _compiled_time(pair)
    return _compile_times[_key(job)]


def _compiled_time(pair: truth.Pair) -> tuple[dict | None, str | None]:
    try:
        import torch._dynamo
        import torch._inductor.config

        # Nothing of ours is forked by a process that has a GPU's context.
        torch._inductor.config.compile_threads = 1
        with _own_caches(), _alarm(COMPILE_S):
            return sampled(pair, torch.compile(copy.deepcopy(pair.eager))), None
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is no candidate's
        why = f"{type(problem).__name__}: {problem}"
        return None, feedback.plain(feedback.clean(why))[:300]
    finally:
        torch._dynamo.reset()
        if pair.r.device != "cpu":
            torch.cuda.empty_cache()


@contextlib.contextmanager
def _own_caches() -> Iterator[None]:
    """Compiled files go when the figure is there."""
    names = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    kept = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update({name: os.path.join(folder, name) for name in names})
        try:
            yield
        finally:
            for name, value in kept.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


@contextlib.contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def end(*_: object) -> None:
        raise TimeoutError(f"it took longer than {seconds} s")

    old = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
