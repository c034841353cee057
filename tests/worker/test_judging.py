"""Pieces of the judge and of the candidate's side that an honest kernel depends on."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

import calls  # noqa: E402
import candidate  # noqa: E402
import compare  # noqa: E402
import evidence  # noqa: E402

VERIFY = ROOT / "tests" / "verify"


# ---- wrong answers ---------------------------------------------------------------


def verdict_of(got: torch.Tensor, truth: torch.Tensor, previous: torch.Tensor) -> calls.Verdict:
    e = compare.measure(got, truth, None)
    return calls.wrong(calls.Progress(), 0, got, truth, e, (1e-4, 1e-3), "plain", [previous])


@pytest.mark.parametrize("shape", [(), (1,), (3, 4)])
def test_a_wrong_answer_is_wrong_whatever_its_shape(shape: tuple) -> None:
    truth = torch.full(shape, 2.0)
    assert verdict_of(truth + 1, truth, truth + 2).verdict == "wrong_values"
    assert verdict_of(truth + 1, truth, truth + 1).rule == "state-kept"
    assert verdict_of(truth * float("nan"), truth, truth).verdict == "not_finite"


# ---- arguments -------------------------------------------------------------------


@pytest.fixture
def side() -> candidate.Candidate:
    return candidate.Candidate(None, None, "cpu", "/nonexistent")


def test_new_contents_come_in_the_memory_of_the_last_call(side: candidate.Candidate) -> None:
    first = side._place([torch.zeros(4), [torch.zeros(3), (torch.zeros(2), 5)]], reuse=False)
    old = [first[0], first[1][0], first[1][1][0]]
    second = side._place([torch.ones(4), [torch.ones(3), (torch.ones(2), 6)]], reuse=True)
    new = [second[0], second[1][0], second[1][1][0]]
    assert [t.data_ptr() for t in old] == [t.data_ptr() for t in new]
    assert all(bool((t == 1).all()) for t in new)
    assert second[1][1][1] == 6


def test_a_plain_argument_is_the_one_of_this_call(side: candidate.Candidate) -> None:
    side._place([torch.zeros(4), 1.5, True, None], reuse=False)
    assert side._place([torch.zeros(4), 2.5, False, None], reuse=True)[1:] == [2.5, False, None]


# ---- memory ----------------------------------------------------------------------


def test_memory_that_was_only_allocated_holds_nan() -> None:
    with evidence.Watch(evidence.GuardedMemory()):
        x = torch.zeros(5)
        fresh = [torch.empty(5), x.new_empty(2, 3), torch.empty_like(x), torch.empty(())]
        count = torch.empty(3, dtype=torch.int64)
    assert all(bool(torch.isnan(t).all()) for t in fresh)
    assert count.tolist() == [-1, -1, -1]
    assert x.tolist() == [0.0] * 5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64, torch.bool])
def test_a_write_past_the_end_of_a_tensor_is_seen(dtype: torch.dtype) -> None:
    memory = evidence.GuardedMemory()
    with evidence.Watch(memory):
        x = torch.empty(3, 7, dtype=dtype)
    x.fill_(1)
    assert not memory.broken()
    torch.as_strided(x, (1,), (1,), x.storage_offset() + 21).fill_(1)
    assert memory.broken()


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
    assert all(len(pair) == 2 and (ROOT / pair[0]).is_file() for pair in listed)
    kernels = [str(p.relative_to(ROOT)) for f in folders for p in (VERIFY / f).glob("*.py")]
    assert sorted(pair[1] for pair in listed) == sorted(kernels)
