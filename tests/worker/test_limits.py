"""A task's own code has limits: one that hangs, or takes all memory, or tries to end the
judge is unusable for that reason, and the next task is judged as if nothing had been."""

from __future__ import annotations

import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))
sys.path.insert(0, str(Path(__file__).parent))

from judge import truth  # noqa: E402
from shared import limits  # noqa: E402
from task_text import reference, task  # noqa: E402

GIB = 1 << 30
SLEEP, SPIN = "time.sleep(1000)", "while True: pass"


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    limits.configure(total_memory=2 * GIB, seconds=0.5)
    yield
    limits.configure(total_memory=0)


def why(source: str) -> str:
    with pytest.raises(truth.Unusable) as refused:
        reference(source).fresh().expect(1, "plain")
    return str(refused.value)


def works() -> bool:
    return bool(reference(task("return x * 2")).fresh().expect(1, "plain").truth)


# ---- time ------------------------------------------------------------------------


@pytest.mark.parametrize("hang", [SLEEP, SPIN])
@pytest.mark.parametrize(
    "place, said",
    [("top", "the task's file"), ("setup", "Model's __init__"), ("forward", "the reference"),
     ("inputs", "get_inputs"), ("init", "get_init_inputs")],
)  # fmt: skip
def test_a_task_that_hangs_is_unusable_wherever_it_does(place: str, said: str, hang: str) -> None:
    parts = {"forward": "return x * 2"}
    if place in ("inputs", "init"):
        parts |= {"top": f"def hang():\n    {hang}", place: "hang()"}
    else:
        parts[place] = hang
    started = time.process_time()
    assert why(task(**parts)) == f"{said} did not return within 0.5 s"
    assert time.process_time() - started < 10
    assert works()


def test_an_exception_handler_does_not_keep_a_task_going() -> None:
    source = task(f"try:\n    {SLEEP}\nexcept Exception:\n    pass\nreturn x")
    assert "did not return" in why(source)


def test_what_catches_everything_once_is_told_once_more() -> None:
    source = task(f"try:\n    {SLEEP}\nexcept BaseException:\n    {SLEEP}")
    assert "did not return" in why(source)


def test_a_limit_leaves_no_alarm_behind() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    assert works()
    why(task(SLEEP))
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is handler


def test_of_two_limits_the_earlier_one_counts_and_the_outer_one_goes_on() -> None:
    with pytest.raises(limits.Exceeded, match="outer did not return within 0.3 s"):
        with limits.duration("outer", 0.3), limits.duration("inner", 5):
            time.sleep(60)
    with pytest.raises(limits.Exceeded, match="outer"):
        with limits.duration("outer", 3):
            with pytest.raises(limits.Exceeded, match="inner"):
                with limits.duration("inner", 0.1):
                    time.sleep(60)
            time.sleep(60)


@pytest.mark.parametrize("nap", [60, 0.01])
def test_who_only_waits_has_less_time(nap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    limits.LIMITS.seconds = 20.0
    monkeypatch.setattr(limits, "IDLE_S", 0.4)
    monkeypatch.setattr(limits, "LOOK_S", 0.1)
    monkeypatch.setattr(limits, "PROGRESS_S", 0.1)
    said = why(task(f"while True: time.sleep({nap})"))
    assert said == "the reference waits: no processor time used in 0.4 s"


def test_who_computes_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits.LIMITS.seconds = 2.0
    monkeypatch.setattr(limits, "IDLE_S", 1.5)
    monkeypatch.setattr(limits, "LOOK_S", 0.05)
    assert why(task(SPIN)) == "the reference did not return within 2 s"


def test_somebody_elses_alarm_rings_in_its_time() -> None:
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1)
        with limits.duration("inner", 60):
            time.sleep(1.1)
            assert not rung
        until = time.monotonic() + 60
        while not rung and time.monotonic() < until:
            time.sleep(0.01)
        assert rung
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_gate_of_many_slow_calls_ends() -> None:
    source = task("time.sleep(0.2)\nreturn x.mean() * 1e-9 + 1", inputs="[torch.randn(4, 4)]")
    started = time.process_time()
    with pytest.raises(truth.Exceeded, match="the check of this task did not return within 2 s"):
        truth.gate(reference(source), "0" * 64)
    assert time.process_time() - started < 10


# ---- memory ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        {"forward": "return x + torch.zeros(1 << 34).sum()"},
        {"forward": "return x + len(bytearray(1 << 36))"},
        {"forward": "kept = [torch.zeros(1 << 24) for _ in range(1 << 12)]\nreturn x"},
        {"forward": "return x", "inputs": "[torch.rand(1 << 32)]"},
        {"forward": "return x", "setup": "self.w = torch.nn.Parameter(torch.rand(1 << 34))"},
        {"forward": "return x", "top": "TABLE = torch.zeros(1 << 34)"},
    ],
)
def test_a_task_that_takes_all_memory_is_unusable(parts: dict) -> None:
    limits.LIMITS.seconds = 20.0
    assert why(task(**parts)).endswith("needs more than 1.0 GiB of memory")
    assert works()


def test_copies_for_the_truth_count_too() -> None:
    """Inputs of 0.6 GiB, and 1.2 for them in float64."""
    limits.LIMITS.seconds = 20.0
    said = why(task("return x.sum()", inputs="[torch.zeros(160 << 20)]"))
    assert said == "the reference needs more than 1.0 GiB of memory"


def test_the_process_has_its_own_limit_again_afterwards() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    why(task("return torch.zeros(1 << 34)"))
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert torch.zeros(300 << 20, dtype=torch.float32).numel() == 300 << 20


# ---- what would end the judge ------------------------------------------------------


@pytest.mark.parametrize("place", ["top", "setup", "forward"])
@pytest.mark.parametrize(
    "end, said",
    [("sys.exit(3)", "SystemExit: 3"), ("raise KeyboardInterrupt", "KeyboardInterrupt"),
     ("exit()", "SystemExit: None")],
)  # fmt: skip
def test_a_task_cannot_exit(place: str, end: str, said: str) -> None:
    assert why(task(**({"forward": "return x"} | {place: end}))).endswith(f"raises {said}")
    assert works()


def test_recursion_without_end_is_the_references_failure() -> None:
    source = task("return self.forward(x)")
    assert "the reference raises RecursionError" in why(source)
    assert works()


def test_a_task_leaves_its_default_dtype_behind_for_nobody() -> None:
    reference(task("return x", top="torch.set_default_dtype(torch.float64)"))
    assert torch.get_default_dtype() == torch.float32
