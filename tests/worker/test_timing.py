"""What is timed: each repetition on values of its own, in memory as before any call, and what
it computed is compared. And what it is compared with: the reference, eager and compiled."""
from __future__ import annotations

import json
import os
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
from judge import clock, session, sheets, timing, truth, verdict  # noqa: E402
from judge.executors import Ran  # noqa: E402
from judge.judging import Progress, Verdict  # noqa: E402
from judge.steps import Baseline, Exclusive  # noqa: E402
from shared import inputs  # noqa: E402

RELU = task("return torch.relu(x)")
COUNTED = task(
    "self.calls.add_(1)\nreturn torch.relu(x) + self.calls", setup="self.register_buffer('calls', torch.zeros(()))"
)


class Session:
    """Timed calls of a candidate that is the reference itself, or what `spoilt` makes of the
    output of call number n, and `forgets` the buffers; each takes `call_s` seconds of a clock of
    ours."""

    cuda = False
    buffers_to_judge = session.Session.buffers_to_judge

    def __init__(self, source: str, spoilt=lambda n, t: t, call_s: float = 0.0, forgets=lambda n: False) -> None:
        self.job = make_job(source, "")
        self.sheet = sheets.sheet(self.job, verdict.make_reference, False)
        self.p, self.spoilt, self.call_s, self.forgets = Progress(), spoilt, call_s, forgets
        self.trace = SimpleNamespace(calls=[None], configurations=lambda: 1)
        self.seen: list[bytes] = []
        self.states: list[dict[str, torch.Tensor]] = []
        self.now, self.limits = 0.0, []

    def call(self, args: list, state: dict, part: int, config: int, timed: bool, deadline_ms: int) -> Generator:
        assert timed
        number = len(self.seen)
        self.seen.append(args[0].numpy().tobytes())
        self.states.append({n: t.clone() for n, t in state.items()})
        self.model = self.sheet.reference.fresh().eager
        with torch.no_grad():
            truth.put_state(self.model, state)
            out = self.model(*args)
            if self.forgets(number):
                truth.put_state(self.model, state)
        self.limits.append(deadline_ms)
        self.now += self.call_s
        ms = self.call_s * 1e3 or 1.0
        yield from ()
        return [self.spoilt(number, out)], Ran(ms, ms)

    def last(self) -> int:
        return 1

    def left(self, state: dict) -> dict[str, torch.Tensor]:
        return {n: t.detach().clone() for n, t in inputs.buffers(self.model).items()}


def measured(made: Session, monkeypatch: pytest.MonkeyPatch) -> dict:
    """p.timing; its clock is the time."""
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr(timing, "since", lambda start: (made.now - start) * 1e3)
    monkeypatch.setattr(timing, "reference_time", lambda job, pair: {"median": 1.0})
    steps = timing.measure_times(made)
    assert isinstance(next(steps), Exclusive)
    with pytest.raises(StopIteration):
        steps.send(None)
    return made.p.timing


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
    assert end.value.verdict == "wrong_values" and "a timed call" in end.value.text


LARGE = task("return x + self.w", inputs="[torch.randn(64, 100)]", setup="self.w = torch.nn.Parameter(torch.ones(100))")


MEAN = task(
    "self.mean.mul_(0.5).add_(x.mean(), alpha=0.5)\nreturn torch.relu(x)", setup="self.register_buffer('mean', torch.zeros(()))"
)


@pytest.mark.parametrize("source", [LARGE, MEAN])
def test_timed_calls_start_from_states_like_a_trials(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which there are two, and nobody can foresee when the second comes."""
    changes = set()
    for _ in range(12):
        made = Session(source)
        built = made.sheet.reference.fresh().state_values()
        measured(made, monkeypatch)
        states = made.states[1:]  # without the one that warms up
        differ = [any(not torch.equal(a[n], b[n]) for n in a) for a, b in zip(states, states[1:])]
        assert sum(differ) == 1
        assert all(any(not torch.equal(t, s[n]) for n, t in built.items()) for s in states)
        changes.add(differ.index(True))
    assert len(changes) > 1  # all alike once in 29 to the 11th times


@pytest.mark.parametrize("at", [1, 20, clock.MAX_REPS])
def test_a_timed_call_that_leaves_out_the_update_of_a_buffer_is_caught(
    at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Verdict) as end:
        measured(Session(COUNTED, forgets=lambda n: n == at), monkeypatch)
    assert (end.value.verdict, end.value.rule) == ("wrong_values", "buffer")


def test_of_large_outputs_excerpts_of_every_call_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """At places that nobody can foresee, and every right call passes."""
    monkeypatch.setattr(timing, "KEPT_BYTES", clock.MAX_REPS * timing.EXCERPTS * 10 * 4)
    made, kept = Session(LARGE), []
    of = timing.Excerpt.of
    monkeypatch.setattr(timing.Excerpt, "of", lambda *args: kept.append(of(*args)) or kept[-1])
    found = measured(made, monkeypatch)
    assert len(kept) == clock.MAX_REPS + 1 and found["compared"] >= timing.COMPARED
    assert all(excerpt.values.shape == (timing.EXCERPTS, 10) for excerpt in kept)
    assert len({tuple(excerpt.places) for excerpt in kept}) == len(kept)


def test_what_is_wrong_in_half_of_a_large_output_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that computes half of it whenever it is timed comes through once in 2 to the 128th times."""
    monkeypatch.setattr(timing, "KEPT_BYTES", clock.MAX_REPS * timing.EXCERPTS * 10 * 4)

    def half(n: int, t: torch.Tensor) -> torch.Tensor:
        return torch.cat([t[:32], torch.zeros_like(t[32:])])

    with pytest.raises(Verdict) as end:
        measured(Session(LARGE, half), monkeypatch)
    assert end.value.verdict == "wrong_values"


def test_inputs_that_the_reference_does_not_take_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(self: truth.Pair, seed: int, variant: str) -> None:
        raise truth.Unusable("no answer")

    monkeypatch.setattr(truth.Pair, "expect", refuses)
    assert measured(Session(RELU), monkeypatch)["compared"] == 0


@pytest.mark.parametrize("call_s, repetitions", [(0.01, 10), (15, 4), (25, 1), (45, 1)])
def test_a_slow_kernel_is_timed_less_often(
    call_s: float, repetitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timing has 120 s, and the comparison is in them."""
    session = Session(RELU, call_s=call_s)
    session.job["deadlines"]["timing_ms"] = 120000
    found = measured(session, monkeypatch)
    assert found["ms"]["n"] == repetitions
    assert session.now <= 120 and all(left > 0 for left in session.limits)


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

result = {{name: answered(*case) for name, case in {cases!r}.items()}}
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
        next(timing.compiled_baseline(job, "cpu"))
    assert end.value.value == (None, "not measured on the CPU")
    steps = timing.compiled_baseline(job | {"compile_baseline": True}, "cpu")
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
