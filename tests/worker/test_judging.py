"""Pieces of the judge that an honest kernel depends on."""
from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from judge import compare, executors, judge, judging, truth, verdict  # noqa: E402
from judge.steps import Ask, Fork, Gone, NoChild  # noqa: E402
from shared import inputs  # noqa: E402

VERIFY = ROOT / "tests" / "verify"


# ---- wrong answers ---------------------------------------------------------------


def verdict_of(got: torch.Tensor, truth: torch.Tensor) -> judging.Verdict:
    e = compare.measure(got, truth, None)
    return judging.wrong(judging.Progress(), "output 0", got, truth, e, (1e-4, 1e-3), "plain")


@pytest.mark.parametrize("shape", [(), (1,), (3, 4)])
def test_a_wrong_answer_is_wrong_whatever_its_shape(shape: tuple) -> None:
    truth = torch.full(shape, 2.0)
    end = verdict_of(truth + 1, truth)
    assert end.verdict == "wrong_values" and f"{[0] * len(shape)}: 3 instead of 2" in end.text
    assert verdict_of(truth * float("nan"), truth).verdict == "not_finite"


@pytest.mark.parametrize(
    "why, verdict_, words",
    [("timeout", "timeout", "did not end in time"), ("late", "timeout", "did not end in time"),
     ("memory", "out_of_memory", "more memory"), ("signal 11", "crash", "ended by signal 11"),
     ("exit 3", "crash", "exited with status 3")],
)  # fmt: skip
def test_how_a_process_ended_is_the_verdict(why: str, verdict_: str, words: str) -> None:
    end = verdict.from_gone(Gone(why, "its last words"), judging.Progress(stage="trials"))
    assert end.verdict == verdict_ and words in end.text and "its last words" in end.text


@pytest.mark.parametrize("stage, words", [("compile", "Compiling took too long"), ("record", "without data")])
def test_who_is_late_is_told_at_what(stage: str, words: str) -> None:
    assert words in verdict.from_gone(Gone("timeout", ""), judging.Progress(stage=stage)).text


# ---- seeds -----------------------------------------------------------------------


def test_seeds_give_what_torchs_own_do() -> None:
    torch.manual_seed(2**63 - 1)
    wanted = torch.rand(4), torch.randn(4), torch.randint(0, 99, (4,))
    inputs.sow(2**63 - 1, "cpu")
    got = torch.rand(4), torch.randn(4), torch.randint(0, 99, (4,))
    assert all(torch.equal(a, b) for a, b in zip(wanted, got))


# ---- tasks at the edge -----------------------------------------------------------

# One number, by which two seeds differ about as much as is allowed.
EDGE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [1 + 7e-5 * torch.randn(1, 1)]
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(("spread", "refused"), [("3e-4", False), ("5e-5", True)])
def test_whether_a_task_depends_on_its_inputs_does_not_hang_on_the_seed(spread: str, refused: bool) -> None:
    """Of the first a fifth of other seeds' outputs pass, of the second five sixths."""
    reference = truth.Reference(EDGE.replace("7e-5", spread), "fp32", "cpu", 1)
    for seed in (f"{i:064x}" for i in range(30)):
        assert bool(truth.gate(reference, seed)) is refused
        assert truth.self_test(reference, seed)["other_seed"] is refused


# In fp32 an output hangs on the order of adding, which changes every second call: the
# truth is asked for before each.
ORDER = """
import torch
turn = [0]
class Model(torch.nn.Module):
    def forward(self, x):
        turn[0] += 1
        y = torch.cat([x, x.new_full((1,), 3e7), x.new_full((1,), -3e7)])
        y = y.roll(-1) if turn[0] & 2 else y
        return y[0] + y[1] + y[2]
def get_inputs():
    return [torch.randn(1)]
def get_init_inputs():
    return []
"""


def test_another_order_of_adding_is_not_chance() -> None:
    reference = truth.Reference(ORDER, "fp32", "cpu", 1)
    first, second = (reference.fresh().expect(5, "plain") for _ in range(2))
    assert abs(float(first.eager[0] - second.eager[0])) > 1e-2
    assert not [why for why in truth.gate(reference, "0" * 64) if "nondeterministic" in why]


RAGGED = EDGE.replace("return x * 2", "return x[x > 1]").replace("(1, 1)", "(40,)")


def test_an_output_whose_shape_hangs_on_values_is_refused() -> None:
    reference = truth.Reference(RAGGED, "fp32", "cpu", 1)
    with pytest.raises(truth.Unusable, match="shape"):
        truth.gate(reference, "0" * 64)


# ---- time ------------------------------------------------------------------------


@pytest.mark.parametrize("why, raised", [("late", Gone), ("timeout", NoChild), ("exit 0", NoChild)])
def test_a_child_that_never_spoke_is_our_fault_unless_the_job_is_late(
    why: str, raised: type[Exception]
) -> None:
    job = {"deadlines": {"load_ms": 1}, "limits": {"memory_bytes": 0}}
    steps = executors.start_child(job, "pack")
    assert isinstance(next(steps), Fork) and isinstance(steps.send(None), Ask)
    with pytest.raises(raised):
        steps.throw(Gone(why, ""))


# ---- memory ----------------------------------------------------------------------


def full(*_: object, **__: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_no_trial_is_left_out_because_the_device_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = truth.Reference(EDGE, "fp32", "cpu", 1).fresh()
    monkeypatch.setattr(truth, "_call_model", full)
    with pytest.raises(torch.OutOfMemoryError):
        pair.expect(1, "signed")


def test_a_full_device_is_not_a_sick_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = judge.Judge.__new__(judge.Judge)
    bench.o = SimpleNamespace(device="cuda:0")
    monkeypatch.setattr(torch, "arange", full)
    bench.check_device()


@pytest.mark.parametrize(
    "kind, text, wanted",
    [
        ("torch.OutOfMemoryError", "x", "out_of_memory"),
        ("numpy._core._exceptions._ArrayMemoryError", "x", "out_of_memory"),
        ("RuntimeError", "trace\nRuntimeError: Triton Error [CUDA]: out of memory", "launch_error"),
    ],
)
def test_a_full_device_is_known_by_the_errors_class_not_by_its_words(kind: str, text: str, wanted: str) -> None:
    answer = {"error": {"stage": "call", "type": kind, "text": text}}
    with pytest.raises(judging.Verdict) as end:
        judging.fail_on_error(answer, judging.Progress())
    assert end.value.verdict == wanted


# ---- names -----------------------------------------------------------------------

W, B = ("w", [4, 4], "float32"), ("b", [4], "float32")


@pytest.mark.parametrize(
    "mine, wanted",
    [
        ([W, B], [("w", "w"), ("b", "b")]),
        ([("w", [4, 4], "float32"), ("c", [4], "float32")], [("w", "w")]),
        ([("x", [4, 4], "float32"), ("y", [4], "float32")], [("x", "w"), ("y", "b")]),
        ([("y", [4], "float32"), ("x", [4, 4], "float32")], []),
        ([("w", [4], "float32")], []),
        ([("w", [4, 4], "float16")], []),
        ([], []),
    ],
)
def test_state_is_matched_by_name_or_where_none_fits_by_order(mine: list, wanted: list) -> None:
    assert verdict.matching([W, B], mine) == wanted


# ---- the kernels that must be found right ------------------------------------------


def pairs(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    "lists, folders",
    [("starter-*.list", ["triton", "c-cpu"]), ("honest*.list", ["honest"]),
     ("irregular-*.list", ["irregular"])],
)  # fmt: skip
def test_every_kernel_of_a_folder_is_in_its_list(lists: str, folders: list[str]) -> None:
    listed = [pair for path in VERIFY.glob(lists) for pair in pairs(path)]
    assert all(len(pair) == 2 and (VERIFY / pair[0]).is_file() for pair in listed)
    kernels = [str(p.relative_to(VERIFY)) for f in folders for p in (VERIFY / f).glob("*.py")]
    assert sorted(pair[1] for pair in listed) == sorted(kernels)
