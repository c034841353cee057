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
import inputs  # noqa: E402
import truth  # noqa: E402
import verdict  # noqa: E402
from steps import Exclusive  # noqa: E402

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


def test_seeds_give_what_torchs_own_do() -> None:
    torch.manual_seed(2**63 - 1)
    wanted = torch.rand(4), torch.randn(4), torch.randint(0, 99, (4,))
    inputs.sow(2**63 - 1, "cpu")
    got = torch.rand(4), torch.randn(4), torch.randint(0, 99, (4,))
    assert all(torch.equal(a, b) for a, b in zip(wanted, got))


# ---- tasks at the edge -----------------------------------------------------------

# Outputs of two seeds differ by about what is allowed.
EDGE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [1 + 7e-5 * torch.randn(2, 1)]
def get_init_inputs():
    return []
"""


def test_what_passes_the_gate_is_not_passed_by_other_seeds() -> None:
    reference = truth.Reference(EDGE, "fp32", "cpu", 1)
    seeds = [f"{i:064x}" for i in range(30)]
    usable = [s for s in seeds if not truth.gate(reference, s)]
    assert 0 < len(usable) < len(seeds)
    assert not any(truth.self_test(reference, s)["other_seed"] for s in usable)


# ---- memory ----------------------------------------------------------------------


def test_who_finds_a_gpu_full_is_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [calls.Verdict("out_of_memory", "first_call", ""), calls.Verdict("correct", "done", "")]

    def attempt(job: dict, reference: object, p: calls.Progress, builds: object):
        p.stage = f"{len(ends)} left"
        yield from ()
        return ends.pop(0)

    class Reference:
        def has_state(self) -> bool:
            return False

    monkeypatch.setattr(verdict, "attempt", attempt)
    monkeypatch.setattr(verdict, "make_reference", lambda job: Reference())
    monkeypatch.setattr(verdict, "empty_cache", lambda job: None)
    job = {"device": "cuda:0", "protocol": "hardened"}
    steps = verdict.verify(job, {"box": "full"}, None)
    assert isinstance(next(steps), Exclusive)
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    assert end.value.value["verdict"] == "correct" and ends == []


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
