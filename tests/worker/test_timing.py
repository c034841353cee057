"""What is timed: each repetition on values of its own, in memory as before any call, and what
it computed is compared. And what it is compared with: the reference, eager and compiled."""
from __future__ import annotations

import collections
import json
import os
import random
import subprocess
import sys
from collections.abc import Generator
from types import SimpleNamespace

import forked
import pytest
import torch
from small_loop import ROOT, Loop, make_job, said, verify
from task_text import task

sys.path.insert(0, str(ROOT / "worker"))

import candidates  # noqa: E402
from judge import clock, sheets, timing, truth, verdict  # noqa: E402
from judge.executors import Ran  # noqa: E402
from judge.judging import Progress, Verdict  # noqa: E402
from judge.steps import Baseline, Exclusive  # noqa: E402

RELU = task("return torch.relu(x)")
COUNTED = task(
    "self.calls.add_(1)\nreturn torch.relu(x) + self.calls", setup="self.register_buffer('calls', torch.zeros(()))"
)


class Session:
    """Timed calls of a candidate that is the reference itself, or what `spoilt` makes of the
    output of call number n; each takes `call_s` seconds of a clock of ours."""

    cuda = False

    def __init__(self, source: str, spoilt=lambda n, t: t, call_s: float = 0.0) -> None:
        self.job = make_job(source, "")
        self.sheet = sheets.sheet(self.job, verdict.make_reference, False)
        self.p, self.spoilt, self.call_s = Progress(), spoilt, call_s
        self.trace = SimpleNamespace(calls=[None], configurations=lambda: 1)
        self.timed_state: dict = {}
        self.seen: list[bytes] = []
        self.now, self.left = 0.0, []

    def call(self, args: list, state: dict, part: int, config: int, timed: bool, deadline_ms: int) -> Generator:
        assert timed
        self.seen.append(args[0].numpy().tobytes())
        model = self.sheet.reference.fresh().eager
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(state[name])
            out = model(*args)
        self.left.append(deadline_ms)
        self.now += self.call_s
        ms = self.call_s * 1e3 or 1.0
        yield from ()
        return [self.spoilt(len(self.seen) - 1, out)], Ran(ms, ms)


def measured(session: Session, monkeypatch: pytest.MonkeyPatch) -> dict:
    """p.timing; the session's clock is the time."""
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: session.now))
    monkeypatch.setattr(timing, "since", lambda start: (session.now - start) * 1e3)
    monkeypatch.setattr(timing, "reference_time", lambda job, pair: {"median": 1.0})
    steps = timing.measure(session)
    assert isinstance(next(steps), Exclusive)
    with pytest.raises(StopIteration):
        steps.send(None)
    return session.p.timing


@pytest.mark.parametrize("source", [RELU, COUNTED])
def test_no_input_is_timed_twice_and_the_reference_itself_passes(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(source)
    found = measured(session, monkeypatch)
    assert len(set(session.seen)) == len(session.seen) > clock.MIN_REPS
    assert found["ms"]["n"] == len(session.seen) - 1  # without the one that warms up
    assert session.p.trials == []


@pytest.mark.parametrize("at", [1, 20, clock.MAX_REPS])
def test_a_timed_call_that_computed_something_else_is_caught(
    at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(RELU, lambda n, t: t * 1.01 if n == at else t)
    with pytest.raises(Verdict) as end:
        measured(session, monkeypatch)
    assert end.value.verdict == "wrong_values" and "a timed call" in end.value.told


def test_of_outputs_that_do_not_fit_nobody_can_foresee_which_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each has the same chance; a late one no better one than an early one."""
    monkeypatch.setattr(timing, "KEPT_BYTES", 4 * 400)
    monkeypatch.setattr(timing.secrets, "randbelow", random.Random(5).randrange)
    count = collections.Counter()
    for _ in range(1000):
        kept: list = []
        for number in range(40):
            timing.keep(kept, number, number, [torch.zeros(100)])
        assert len(kept) == 4
        count.update(seed for seed, _ in kept)
    assert len(count) == 40 and min(count.values()) > 60 and max(count.values()) < 150


def test_inputs_that_the_reference_does_not_take_are_not_compared() -> None:
    class Pair:
        def expect(self, seed: int, variant: str) -> None:
            raise truth.Unusable("no answer")

    timing.compare(Session(RELU), Pair(), [(1, [torch.zeros(4, 8)])])


@pytest.mark.parametrize("call_s, repetitions", [(0.01, 10), (15, 4), (25, 1), (45, 1)])
def test_a_slow_kernel_is_timed_less_often(
    call_s: float, repetitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timing has 120 s, and the comparison is in them."""
    session = Session(RELU, call_s=call_s)
    session.job["deadlines"]["timing_ms"] = 120000
    found = measured(session, monkeypatch)
    assert found["ms"]["n"] == repetitions
    assert session.now <= 120 and all(left > 0 for left in session.left)


def test_a_kernel_is_timed_with_its_reference() -> None:
    record = verify(RELU, candidates.relu(), timing=True)
    assert said(record) == ("correct", None, "E3")
    timed = record["timing"]
    assert timed["ms"]["median"] > 0 and timed["reference_ms"]["median"] > 0
    assert timed["configuration"] is None and timed["compile_ms"] is None
    assert timed["compile_why"] == "not measured on the CPU"


def test_who_is_timed_on_the_cpu_is_alone_while_it_is() -> None:
    loop = Loop()
    verify(RELU, candidates.relu(), timing=True, loop=loop)
    assert sum(isinstance(step, Exclusive) for step in loop.asked) == 1


# ---- torch.compile -----------------------------------------------------------------

BASELINE = ROOT / "worker" / "judge" / "baseline.py"
ASKED = {"source": RELU, "precision": "fp32", "device": "cpu", "init_seed": 1}
# baseline.py with other functions in the place of torch.compile, and what it is sent after the
# first line: all in one process, whose children have imported what it needs.
CASES = {
    "measured": ("print('a word of the compiler'); return model", "go\n"),
    "unwanted": ("return model", ""),
    "failing": ("raise RuntimeError('no compiler in /opt/somewhere/else')", ""),
}
STARTED = """
import os, runpy, sys, torch, torch._inductor.config

def answered(compile, sent):
    asks, tells = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(asks[0], 0), os.dup2(tells[1], 1)
        os.closerange(min(asks + tells), max(asks + tells) + 1)
        sys.stdin, sys.argv = os.fdopen(0), [{script!r}]
        exec("def compile(model):\\n    " + compile, globals())
        torch.compile = globals()["compile"]
        try:
            runpy.run_path({script!r}, run_name="__main__")
        finally:
            os._exit(0)
    os.close(asks[0]), os.close(tells[1])
    lines = os.fdopen(tells[0])
    with os.fdopen(asks[1], "w") as stdin:
        print({asked!r}, file=stdin, flush=True)
        first = lines.readline()
        stdin.write(sent)
    said = lines.read()
    return first, said, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

told = {{name: answered(*case) for name, case in {cases!r}.items()}}
"""


@pytest.fixture(scope="module")
def baselines() -> dict[str, tuple[str, str, int]]:
    """The first line of each, what it says then, and its status."""
    code = STARTED.format(script=str(BASELINE), asked=json.dumps(ASKED), cases=CASES)
    return forked.run(BASELINE.parents[1], code)


def test_a_baseline_is_compiled_says_ready_and_is_measured_when_told_to(baselines) -> None:
    first, said, _ = baselines["measured"]
    found = json.loads(said)
    assert first == "ready\n" and found["why"] is None
    assert found["ms"]["median"] > 0 and found["ms"]["n"] >= clock.MIN_REPS


def test_a_baseline_that_nobody_wants_any_more_ends_without_figures(baselines) -> None:
    assert baselines["unwanted"] == ["ready\n", "", 1]


def test_a_baseline_that_fails_says_why(baselines) -> None:
    found = json.loads(baselines["failing"][0])
    assert found["ms"] is None and found["why"].startswith("RuntimeError: no compiler")


def test_torch_compile_is_left_out_on_the_cpu_unless_it_is_asked_for() -> None:
    job = make_job(RELU, "")
    with pytest.raises(StopIteration) as end:
        next(timing.compiled(job, "cpu"))
    assert end.value.value == (None, "not measured on the CPU")
    steps = timing.compiled(job | {"compile_baseline": True}, "cpu")
    assert isinstance(next(steps), Baseline)
    with pytest.raises(StopIteration) as end:
        steps.send({"ms": {"median": 2.0}, "why": None})
    assert end.value.value == ({"median": 2.0}, None)


@pytest.mark.skipif("MONKEYS_SOAK" not in os.environ, reason="a minute; in make test-long")
def test_torch_compile_works_for_real() -> None:
    argv = [sys.executable, "-B", BASELINE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(json.dumps(ASKED) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        found = json.loads(process.communicate("go\n")[0])
    assert found["why"] is None and found["ms"]["median"] > 0
