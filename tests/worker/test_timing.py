"""What timing looks at, and what it is compared with."""
from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from worker_run import ROOT

sys.path.insert(0, str(ROOT / "worker"))

import calls  # noqa: E402
import clock  # noqa: E402
import inputs  # noqa: E402
import timing  # noqa: E402
import truth  # noqa: E402
import verdict  # noqa: E402
from buffers import Window, judge_buffer  # noqa: E402
from steps import Exclusive  # noqa: E402

STATEFUL = "tests/fixtures/tasks/16_stateful_without_reset.py"
PLAIN = "tests/verify/tasks/softmax.py"
INTEGERS = "tests/verify/tasks/argmax.py"


def job_for(task: str, **more: object) -> dict:
    return {"kind": "verify", "device": "cpu", "precision": "fp32", "protocol": "hardened",
            "task": {"id": task, "source": (ROOT / task).read_text()}, "deadlines": {},
            "seed": hashlib.sha256(task.encode()).hexdigest(), **more}  # fmt: skip


class Repetitions:
    """Timed calls of a candidate that is the reference itself, or what `spoilt` makes of
    the output of call number n."""

    def __init__(self, task: str, spoilt: Callable = lambda n, t: t) -> None:
        self.job = job_for(task)
        self.pair = verdict.make_reference(self.job).fresh()
        size, self.places = verdict.layout(self.pair, self.job)
        self.buffer = judge_buffer(size, "cpu")
        self.looks = timing.Looks(self.job, self.pair, calls.Progress(), self.buffer, self.places)
        self.model, self.spoilt = copy.deepcopy(self.pair.eager), spoilt
        self.looked_at: list[int] = []

    def run(self, count: int) -> None:
        for n in range(count):
            args = inputs.make(self.pair.r.space, n, "plain", "cpu", torch.float32)
            out = self.spoilt(n, truth._call(self.model, args, n, "cpu", torch.float32)[0][0])
            look = self.looks.look(n, n == count - 1, 1000)
            try:
                ask = next(look)
                assert ask.message["op"] == "output" and ask.fds == [self.buffer.fd]
                self.looked_at.append(n)
                Window(self.buffer.fd, self.buffer.size, "cpu").put(0, out)
                look.send({"ok": True})
            except StopIteration:
                continue


@pytest.mark.parametrize("task", [PLAIN, STATEFUL, INTEGERS])
def test_the_reference_itself_passes_every_look(task: str) -> None:
    r = Repetitions(task)
    r.run(40)
    assert r.looked_at[0] == 0 and r.looked_at[-1] == 39
    assert 2 <= len(r.looked_at) < 40


@pytest.mark.parametrize("at", [0, 19])
@pytest.mark.parametrize("task", [PLAIN, STATEFUL])
def test_the_first_and_the_last_are_always_looked_at(task: str, at: int) -> None:
    r = Repetitions(task, lambda n, t: t + 1 if n == at else t)
    with pytest.raises(calls.Verdict) as end:
        r.run(20)
    assert end.value.verdict == "wrong_values"


def test_a_stateful_kernel_that_forgets_calls_is_wrong() -> None:
    r = Repetitions(STATEFUL)
    r.run(1)
    r.model = copy.deepcopy(verdict.make_reference(r.job).fresh().eager)
    with pytest.raises(calls.Verdict):
        r.run(30)


def test_others_are_looked_at_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing.secrets, "randbelow", lambda n: 1)
    r = Repetitions(PLAIN)
    r.run(10)
    assert r.looked_at == [0, 9]
    monkeypatch.setattr(timing.secrets, "randbelow", lambda n: 0)
    r = Repetitions(PLAIN)
    r.run(10)
    assert r.looked_at == list(range(10))


def test_inputs_that_the_reference_does_not_take_are_not_looked_at() -> None:
    r = Repetitions(PLAIN)

    def unusable(*_: object) -> None:
        raise truth.Unusable("no answer")

    r.pair.expect = unusable
    r.run(3)
    assert r.looked_at == []


@pytest.mark.parametrize(
    "task, answer",
    [(PLAIN, False), (STATEFUL, True), ("tests/fixtures/tasks/20_batch_norm_train.py", False),
     ("tests/fixtures/tasks/15_stateful_forward.py", False)],
)  # fmt: skip
def test_a_reference_that_remembers_is_known(task: str, answer: bool) -> None:
    """Statistics that only run along change no output, and a state that each call sets
    anew is none."""
    assert verdict.make_reference(job_for(task)).fresh().remembers(5) == answer


@pytest.mark.parametrize("call_s, repetitions", [(1, 7), (15, 7), (25, 3), (55, 2)])
def test_a_slow_kernel_is_timed_less_often(
    monkeypatch: pytest.MonkeyPatch, call_s: int, repetitions: int
) -> None:
    """It never takes more than its time, as long as two calls do not."""
    r = Repetitions(PLAIN)
    now = [0.0]
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(timing, "since", lambda start: (now[0] - start) * 1e3)
    monkeypatch.setattr(timing, "reference_time", lambda job, pair: None)
    job = r.job | {"deadlines": {"timing_ms": 120000}}
    p = calls.Progress()
    steps = timing.measure(job, r.pair, p, r.buffer, r.places)
    assert isinstance(next(steps), Exclusive)
    ask, count = steps.send(None), 0
    with contextlib.suppress(StopIteration):
        while True:
            if ask.message["op"] == "time" and not ask.message["empty"]:
                count += 1
                seed = ask.message["seed"]
                args = inputs.make(r.pair.r.space, seed, "plain", "cpu", torch.float32)
                out = truth._call(r.model, args, seed, "cpu", torch.float32)[0][0]
                assert ask.deadline_ms > call_s * 1e3
                now[0] += call_s
            elif ask.message["op"] == "output":
                Window(r.buffer.fd, r.buffer.size, "cpu").put(0, out)
            ask = steps.send({"ok": True, "ms": call_s * 1e3, "launched": 1})
    assert count == repetitions and p.timing["ms"]["median"] == call_s * 1e3


# ---- torch.compile -----------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "MEASURE_MS", 1.0)
    monkeypatch.setattr(timing, "_compile_times", {})


def compiled(task: str, **more: object) -> tuple[dict | None, str | None]:
    job = job_for(task, **more)
    return timing.compiled_time(job, verdict.make_reference(job).fresh())


def test_torch_compile_is_left_out_on_the_cpu(quick: None) -> None:
    assert compiled(PLAIN) == (None, "not measured on the CPU")


def test_torch_compile_is_measured_once(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(torch, "compile", lambda model: made.append(model) or model)
    first = compiled(PLAIN, compile_baseline=True)
    assert first[0]["median"] > 0 and first[1] is None
    assert compiled(PLAIN, compile_baseline=True) == first and len(made) == 1


def test_a_failure_of_torch_compile_is_told(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(model: torch.nn.Module) -> None:
        raise RuntimeError("no compiler in /opt/somewhere/else")

    monkeypatch.setattr(torch, "compile", broken)
    figure, why = compiled(PLAIN, compile_baseline=True)
    assert figure is None and why.startswith("RuntimeError: no compiler")


def test_torch_compile_has_a_time_limit(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(model: torch.nn.Module) -> None:
        while True:
            pass

    monkeypatch.setattr(torch, "compile", endless)
    monkeypatch.setattr(timing, "COMPILE_S", 1)
    assert compiled(PLAIN, compile_baseline=True) == (None, "TimeoutError: it took longer than 1 s")


@pytest.mark.skipif("MONKEYS_SOAK" not in os.environ, reason="a minute; in make test-long")
def test_torch_compile_works_for_real(quick: None) -> None:
    figure, why = compiled(PLAIN, compile_baseline=True)
    assert why is None and figure["median"] > 0
