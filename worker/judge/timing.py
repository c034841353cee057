"""Times a correct trace, and what it is compared with: the eager reference and torch.compile's,
each measured once per task and precision.

The executor times the trace with its own clock: on a GPU, device events around the nodes, after
flushing the cache. This measures the device's work; the host's share, in C and without the recorded
Python, is a separate figure. No input is timed twice: every repetition has new values, in memory
that was filled with NaN, and the results are compared afterwards."""

import secrets
import time
from collections.abc import Callable, Generator

import torch
from judge import clock, truth
from judge.judging import judge_trial, since
from judge.steps import Baseline, Exclusive
from shared import inputs, limits

KEPT_BYTES = 1 << 30  # outputs of repetitions that are kept to be compared
WARM = 8  # calls before the first repetition that counts


def measure(session) -> Generator:
    """Stores the fastest configuration of the trace in p.timing."""
    job, p = session.job, session.p
    if not session.cuda:
        yield Exclusive()
    p.stage, started = "timing", time.monotonic()
    pair = session.sheet.reference.fresh()
    session.timed_state = {n: t.detach().clone() for n, t in pair.state_values().items()}
    config = yield from fastest(session)
    told: list[float] = []
    hosts: list[float] = []
    kept: list[tuple[int, list[torch.Tensor]]] = []
    short = False
    yield from warm_up(session, config)
    while not (clock.enough(told) or short):
        before = time.monotonic()
        seed, got, ran = yield from repetition(session, config, str(len(told)), started)
        # Slow is not wrong: there must be time for the comparison.
        short = job["deadlines"]["timing_ms"] - since(started) < 4 * since(before)
        keep(kept, len(told), seed, got)
        told.append(ran.device_ms)
        hosts.append(ran.host_ms)
    compare(session, pair, kept)
    p.timing = {
        "ms": clock.summary(told),
        "host_ms": clock.summary(hosts)["median"],
        "configuration": config if session.trace.configurations() > 1 else None,
        "reference_ms": reference_time(job, pair),
        "compile_ms": None,
        "compile_why": "not measured",
    }
    p.times["timing"] = since(started)


def repetition(session, config: int, label: str, started: float) -> Generator:
    """One timed call on its own inputs: its seed, outputs and figures."""
    seed = inputs.derive(session.job["seed"], f"timing-{config}-{label}")
    r = session.sheet.reference
    args = inputs.make(r.space, seed, "plain", r.device, r.dtype)
    left = max(1, session.job["deadlines"]["timing_ms"] - int(since(started)))
    part = len(session.trace.calls)
    got, ran = yield from session.call(
        args, session.timed_state, part, config, timed=True, deadline_ms=left
    )
    return seed, got, ran


def warm_up(session, config: int) -> Generator:
    """A few uncounted calls on the current contents of the region: clocks ramp up, code is
    loaded."""
    yield from repetition(session, config, "warm", time.monotonic())
    spent = 0.0
    for _ in range(WARM if session.cuda else 0):
        ran = yield from session.run(len(session.trace.calls), config, timed=True)
        spent += ran.device_ms
        if spent > clock.WARM_MS:
            return


def fastest(session) -> Generator:
    """The configuration of an autotuner to time; on the CPU, the first."""
    count = session.trace.configurations()
    if count == 1 or not session.cuda:
        return 0
    best: list[tuple[float, int]] = []
    for config in range(count):
        times = []
        for i in range(4):
            _, _, ran = yield from repetition(session, config, f"tune-{i}", time.monotonic())
            times.append(ran.device_ms)
        best.append((min(times[1:]), config))
    return min(best)[1]


def keep(kept: list, number: int, seed: int, got: list[torch.Tensor]) -> None:
    """Keeps all outputs if they fit, otherwise an unpredictable sample in which each repetition has
    the same chance. `number` is how many came before this one."""
    size = sum(t.numel() * t.element_size() for t in got)
    if (len(kept) + 1) * size <= KEPT_BYTES or len(kept) < 2:
        kept.append((seed, got))
        return
    place = secrets.randbelow(number + 1)
    if place < len(kept):
        kept[place] = (seed, got)


def compare(session, pair: truth.Pair, kept: list) -> None:
    """Compares what the repetitions computed with references in the same state."""
    for seed, got in kept:
        try:
            expected = pair.expect(seed, "plain")
        except truth.Unusable:  # the reference has no answer to these inputs
            continue
        pair.take_back()
        if expected.exact():
            judge_trial(session.job, session.p, got, expected, "plain", ", a timed call")
            session.p.trials.pop()


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


def compiled(job: dict, device: str) -> Generator:
    """(figures, why there are none) for the reference under torch.compile, measured alongside other
    work. On the CPU only if the job asks for it."""
    if job["device"] == "cpu" and not job.get("compile_baseline"):
        return None, "not measured on the CPU"
    asked = {"source": job["task"]["source"], "precision": job["precision"], "device": device,
             "init_seed": 1}  # fmt: skip
    found = yield Baseline(asked)
    return found["ms"], found["why"]
