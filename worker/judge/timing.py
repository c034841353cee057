"""Times a correct trace, and what it is compared with: the eager reference and torch.compile's,
each measured once per task and precision.

The executor times the trace with its own clock: on a GPU, device events around the nodes, after
flushing the cache. This measures the device's work; the host's share, in C and without the recorded
Python, is a separate figure. To a kernel, a timed call is a trial: it starts from parameters and
buffers drawn for it, which change once among the repetitions, and from new inputs every time, in
memory whose contents nobody knows; and what it leaves is compared."""

import secrets
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch
from judge import clock, truth
from judge.judging import check_buffers, judge_trial, since
from judge.sheets import FIRST
from judge.steps import Baseline, Exclusive
from shared import inputs, limits

KEPT_BYTES = 1 << 30  # outputs of all repetitions that are kept to be compared
EXCERPTS = 16  # of an output that is not kept whole
COMPARED = 8  # repetitions whose truths are computed, if outputs are not kept whole
WARM = 8  # calls before the first repetition that counts


@dataclass
class Excerpt:
    """An output, or excerpts of it at places that nobody knew before the call had ended."""

    values: torch.Tensor
    places: list[int]  # of the rows of `values`; none: it is the whole output

    @classmethod
    def of(cls, output: torch.Tensor, most: int) -> "Excerpt":
        """At most that many bytes."""
        flat, length = output.view(-1), max(1, most // output.element_size() // EXCERPTS)
        if flat.numel() <= length * EXCERPTS:
            return cls(output, [])
        places = [secrets.randbelow(flat.numel() - length + 1) for _ in range(EXCERPTS)]
        return cls(torch.stack([flat[at : at + length] for at in places]), places)

    def inside(self, right: torch.Tensor) -> torch.Tensor:
        """The output, if it is right wherever it was not kept: it fails only if all of it would."""
        if not self.places:
            return self.values
        whole = right.clone(memory_format=torch.contiguous_format)
        for at, values in zip(self.places, self.values):
            whole.view(-1)[at : at + values.numel()] = values.to(whole.device)
        return whole


@dataclass
class Repetition:
    seed: int
    outputs: list[Excerpt]
    left: dict[str, torch.Tensor]  # buffers


class Series:
    """The timed calls of one configuration: those in one state, then those in another."""

    def __init__(self, session, config: int, started: float) -> None:
        self.session, self.config, self.started = session, config, started
        self.times_ms: list[float] = []
        self.hosts: list[float] = []
        self.until = clock.MAX_REPS  # repetitions in the first state
        self.short = False  # of time
        self.compared = 0

    def measure(self, state: dict[str, torch.Tensor], first: bool) -> Generator:
        """Repetitions in this state, which are compared."""
        done: list[Repetition] = []
        deadline = self.session.job["deadlines"]["timing_ms"]
        over = False
        while not over:
            before, label = time.monotonic(), str(len(self.times_ms))
            made, ran = yield from repetition(self.session, state, self.config, label, self.started)
            if not self.times_ms:
                self.count = clock.expected(ran.device_ms)
                self.until = 1 + secrets.randbelow(self.count - 1)
            self.times_ms.append(ran.device_ms)
            self.hosts.append(ran.host_ms)
            done.append(made)
            # Slow is not wrong: there must be time for the comparison.
            self.short = deadline - since(self.started) < 4 * since(before)
            over = self.short or clock.enough(self.times_ms) or first and len(self.times_ms) == self.until
        self.compare(state, done)

    def compare(self, state: dict[str, torch.Tensor], done: list[Repetition]) -> None:
        """Compares what these calls left with what the reference, still in the same state, gives:
        all of them, or of large outputs a sample that was not chosen before they had ended."""
        if any(excerpt.places for made in done for excerpt in made.outputs):
            share = min(len(done), -(-COMPARED * len(done) // self.count))
            done = secrets.SystemRandom().sample(done, share)
        session, pair = self.session, self.session.sheet.pair
        for made in done:
            try:
                expected = pair.expect(made.seed, "plain")
            except truth.Unusable:  # the reference has no answer to these inputs
                continue
            pair.take_back()
            if not expected.exact():
                continue
            right = expected.eager
            if session.job["protocol"] == "hardened":
                right = [t.to(e.dtype) for t, e in zip(expected.truth, right)]
            right = [expected.put_back(i, t) for i, t in enumerate(right)]
            got = [excerpt.inside(t) for excerpt, t in zip(made.outputs, right)]
            judge_trial(session.job, session.p, got, expected, "plain", ", a timed call")
            session.p.trials.pop()
            check_buffers(session.buffers_to_judge(expected, state, made.left), expected)
            self.compared += 1


def measure_times(session) -> Generator:
    """Stores the fastest configuration of the trace in p.timing."""
    job, p, sheet = session.job, session.p, session.sheet
    if not session.cuda:
        yield Exclusive()
    p.stage, started = "timing", time.monotonic()
    # Seeds of the job's own, not its pool's: feedback may show what these calls compute.
    state = sheet.start("timing-0", job["seed"])
    config = yield from fastest(session, state)
    yield from warm_calls(session, state, config)
    series = Series(session, config, started)
    yield from series.measure(state, first=True)
    if not series.short:
        # Constructing a large model takes long: it goes back to the other one that it has.
        state = sheet.start(FIRST if sheet.large else "timing-1", job["seed"])
        yield from series.measure(state, first=False)
    p.timing = {
        "ms": clock.summary(series.times_ms),
        "host_ms": clock.summary(series.hosts)["median"],
        "configuration": config if session.trace.configurations() > 1 else None,
        "compared": series.compared,
        "later_call": len(session.trace.calls) > 1,
        "reference_ms": reference_time(job, sheet.pair),
        "compile_ms": None,
        "compile_why": "not measured",
    }
    p.times["timing"] = since(started)


def repetition(
    session, state: dict[str, torch.Tensor], config: int, label: str, started: float
) -> Generator:
    """One timed call on its own inputs: what it left, and its figures."""
    seed = inputs.derive(session.job["seed"], f"timing-{config}-{label}")
    r = session.sheet.reference
    args = inputs.make(r.space, seed, "plain", r.device, r.dtype)
    left_ms = max(1, session.job["deadlines"]["timing_ms"] - int(since(started)))
    got, ran = yield from session.call(args, state, session.last(), config, timed=True, deadline_ms=left_ms)
    total = max(1, sum(t.numel() * t.element_size() for t in got))
    most = KEPT_BYTES // clock.MAX_REPS
    excerpts = [Excerpt.of(t, most * t.numel() * t.element_size() // total) for t in got]
    return Repetition(seed, excerpts, session.left(state)), ran


def warm_calls(session, state: dict[str, torch.Tensor], config: int) -> Generator:
    """A few uncounted calls on the current contents of the region: clocks ramp up, code is
    loaded."""
    yield from repetition(session, state, config, "warm", time.monotonic())
    spent = 0.0
    for _ in range(WARM if session.cuda else 0):
        ran = yield from session.run(len(session.trace.calls), config, timed=True)
        spent += ran.device_ms
        if spent > clock.WARM_MS:
            return


def fastest(session, state: dict[str, torch.Tensor]) -> Generator:
    """The configuration of an autotuner to time; on the CPU, the first."""
    count = session.trace.configurations()
    if count == 1 or not session.cuda:
        return 0
    best: list[tuple[float, int]] = []
    for config in range(count):
        times = []
        for i in range(4):
            label = f"tune-{i}"
            _, ran = yield from repetition(session, state, config, label, time.monotonic())
            times.append(ran.device_ms)
        best.append((min(times[1:]), config))
    return min(best)[1]


# ---- what it is compared with ------------------------------------------------------

_reference_times: dict[tuple, dict] = {}  # by task, precision and device


def reference_time(job: dict, pair: truth.Pair) -> dict:
    """Times the eager reference, with the flags of the precision."""
    key = job["task"]["source"], job["precision"], job["device"]
    if key not in _reference_times:
        with truth.precision_flags(job["precision"]), limits.running():
            _reference_times[key] = sampled(pair, *pair.baseline())
    return _reference_times[key]


def sampled(pair: truth.Pair, call: Callable, dtype: torch.dtype) -> dict:
    watch = clock.Stopwatch(pair.r.device)
    args = inputs.make(pair.r.space, 1, "plain", pair.r.device, dtype)
    samples: list[float] = []
    with torch.no_grad():
        for _ in range(3):
            watch.run(lambda: call(*args))
        while not clock.enough(samples):
            samples.append(watch.run(lambda: call(*args))[0])
    return clock.summary(samples)


def compiled_baseline(job: dict, device: str) -> Generator:
    """(figures, why there are none) for the reference under torch.compile, measured alongside other
    work. On the CPU only if the job asks for it."""
    if job["device"] == "cpu" and not job.get("compile_baseline"):
        return None, "not measured on the CPU"
    asked = {"source": job["task"]["source"], "precision": job["precision"], "device": device,
             "init_seed": 1}  # fmt: skip
    found = yield Baseline(asked)
    return found["ms"], found["why"]
