"""Pieces of the judge and of the candidate's side that an honest kernel depends on."""
from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

import answers  # noqa: E402
import calls  # noqa: E402
import candidate  # noqa: E402
import compare  # noqa: E402
import evidence  # noqa: E402
import inputs  # noqa: E402
import judge  # noqa: E402
import truth  # noqa: E402
import verdict  # noqa: E402
from frames import MAX_MESSAGE, recv_message, send_message  # noqa: E402
from steps import Ask, Exclusive, Fork, Gone, NoChild  # noqa: E402

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


@pytest.mark.parametrize("size", [1, 5])
def test_contents_of_another_shape_come_in_new_memory(side: candidate.Candidate, size: int) -> None:
    side._place([torch.zeros(4), [torch.zeros(4)]], reuse=False)
    placed = side._place([torch.ones(size), [torch.ones(size), 3]], reuse=True)
    assert placed[0].tolist() == placed[1][0].tolist() == [1.0] * size and placed[1][1] == 3


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
    assert not reference.fresh().remembers(5)


DRIFT = """
import torch
class Model(torch.nn.Module):
    calls = 0
    def forward(self, x):
        self.calls += 1
        return x * (1 + 1e-5 * self.calls)
def get_inputs():
    return [torch.randn(4, 4)]
def get_init_inputs():
    return []
"""


def test_what_a_hundred_calls_add_up_to_is_remembered() -> None:
    """Each changes the output by less than a tolerance."""
    assert truth.Reference(DRIFT, "fp32", "cpu", 1).fresh().remembers(5)


RAGGED = EDGE.replace("return x * 2", "return x[x > 1]").replace("(1, 1)", "(40,)")


def test_an_output_whose_shape_hangs_on_values_is_refused() -> None:
    reference = truth.Reference(RAGGED, "fp32", "cpu", 1)
    with pytest.raises(truth.Unusable, match="shape"):
        truth.gate(reference, "0" * 64)


# ---- launches --------------------------------------------------------------------


class Launcher:
    """An adapter whose kernels were launched so many times, with as many constants."""

    def __init__(self, count: int) -> None:
        self.count = count

    def reset(self) -> None:
        pass

    def launches(self) -> list[str]:
        return ["a_kernel_with_a_name_of_its_own"] * self.count

    def describe(self) -> list[dict]:
        return [{"name": "k", "line": 1, "constants": {"i": i}} for i in range(self.count)]

    def compile(self) -> None:
        pass


class Doubling(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_many_launches_fit_into_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An autotuner's first call makes them by the thousand."""
    side = candidate.Candidate(None, Launcher(100_000), "cpu", "/nonexistent")
    side.space, side.model = inputs.namespace(EDGE, "task"), Doubling()
    side.snapshot = evidence.Snapshot([], side.space)
    side.threads = evidence.kernel_threads()
    monkeypatch.setattr(side, "_seal", lambda: None)
    trial = {"bytes": 0, "seed": 1, "variant": "plain", "reuse": False, "single": True}
    told = side.trial(trial, [])
    assert len(json.dumps(told)) < MAX_MESSAGE
    assert answers.seen(told).launches[0] == "a_kernel_with_a_name_of_its_own"


def test_more_kernels_than_can_be_compiled_are_an_error_of_compiling() -> None:
    told = candidate.Candidate(None, Launcher(100_000), "cpu", "/nonexistent").describe({})
    assert len(json.dumps(told)) < MAX_MESSAGE
    with pytest.raises(calls.Verdict) as end:
        calls.fail_on_error(told, calls.Progress())
    assert end.value.verdict == "compile_error"
    few = candidate.Candidate(None, Launcher(3), "cpu", "/nonexistent").describe({})
    assert len(answers.described(few)) == 3


# ---- time ------------------------------------------------------------------------


@pytest.mark.parametrize("why, raised", [("late", Gone), ("timeout", NoChild), ("exit 0", NoChild)])
def test_a_child_that_never_spoke_is_our_fault_unless_the_job_is_late(
    why: str, raised: type[Exception]
) -> None:
    job = {"deadlines": {"load_ms": 1}, "limits": {"memory_bytes": 0}}
    steps = verdict.start_child(job, "pack")
    assert isinstance(next(steps), Fork) and isinstance(steps.send(None), Ask)
    with pytest.raises(raised):
        steps.throw(Gone(why, ""))


# ---- memory ----------------------------------------------------------------------


def full(*_: object, **__: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_no_trial_is_left_out_because_the_device_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = truth.Reference(EDGE, "fp32", "cpu", 1).fresh()
    monkeypatch.setattr(truth, "_call", full)
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
        ("RuntimeError", "trace\nRuntimeError: Triton Error [CUDA]: out of memory", "out_of_memory"),
        ("RuntimeError", "out of memory, CUDA\nRuntimeError: no", "launch_error"),
    ],
)
def test_a_full_device_is_known_by_its_error(kind: str, text: str, wanted: str) -> None:
    told = {"error": {"stage": "call", "type": kind, "text": text}}
    with pytest.raises(calls.Verdict) as end:
        calls.fail_on_error(told, calls.Progress())
    assert end.value.verdict == wanted


def test_inputs_that_find_no_room_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    side = candidate.Candidate(theirs, SimpleNamespace(is_compile_error=lambda p: False), "cpu", "/")
    monkeypatch.setitem(side.with_memory, "trial", full)
    send_message(ours, {"op": "trial", "token": "t"})
    ours.shutdown(socket.SHUT_WR)
    side.serve()
    told = recv_message(ours, MAX_MESSAGE)[0]
    assert told["token"] == "t" and "OutOfMemory" in told["error"]["type"]


def test_who_holds_memory_goes_before_who_needs_all_of_it() -> None:
    """Of two that wait for the device the one with a child, whoever came first."""
    bench = judge.Judge.__new__(judge.Judge)
    bench.jobs = {
        name: SimpleNamespace(waiting=Exclusive(), child=child, exclusive=False)
        for name, child in (("alone", None), ("timed", object()), ("timed too", object()))
    }
    turns = []
    bench.step = lambda job, value: turns.append(job)
    bench.try_exclusive()
    assert turns == [bench.jobs["timed"]] and turns[0].exclusive



@pytest.mark.parametrize("stateful, first", [(False, []), (True, ["wrong_values"])])
def test_who_finds_a_gpu_full_is_tried_alone(
    monkeypatch: pytest.MonkeyPatch, stateful: bool, first: list[str]
) -> None:
    """Also when it is tried with the weights it was built with."""
    ends = [calls.Verdict(v, "done", "") for v in [*first, "out_of_memory", "correct"]]

    def attempt(job: dict, reference: object, p: calls.Progress, builds: object):
        p.stage = f"{len(ends)} left"
        yield from ()
        return ends.pop(0)

    class Reference:
        def has_state(self) -> bool:
            return stateful

    monkeypatch.setattr(verdict, "attempt", attempt)
    monkeypatch.setattr(verdict, "make_reference", lambda job, unsettled=False: Reference())
    monkeypatch.setattr(verdict, "empty_cache", lambda job: None)
    job = {"device": "cuda:0", "protocol": "hardened"}
    steps = verdict.verify(job, {"box": "full"}, None)
    assert isinstance(next(steps), Exclusive)
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    assert end.value.value["verdict"] == "correct" and ends == []
    assert end.value.value["evidence"] == ("E2" if stateful else "E3")


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
