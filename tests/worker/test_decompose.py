"""Tasks are taken apart without a model: the pieces are accepted, and give the task's output bit
for bit when they run one after the other. PIECES=all takes the twelve variants of linear attention
apart at all levels. Every piece is a task that can be judged."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch
from decompose import fit
from worker_run import ROOT, PieceJob, TaskJob, make_home
from worker_session import Session

MLP = ROOT / "tests" / "fixtures" / "pieces" / "mlp.py"
RECURRENT_LAYER = ROOT / "tests" / "fixtures" / "pieces" / "recurrent.py"
ATTENTION = sorted((ROOT / "tasks" / "linear_attention").glob("*.py"))
RECURRENT = ("08_recurrent_gated_deltanet", "11_recurrent_gla", "12_recurrent_gsa")
LEVELS = ("coarse", "medium", "fine")


def small(name: str, **sizes: int) -> str:
    """A task of linear_attention with other sizes."""
    source = next(p for p in ATTENTION if p.stem == name).read_text()
    for key, value in sizes.items():
        source, count = re.subn(rf"^{key} = \d+", f"{key} = {value}", source, flags=re.M)
        assert count == 1
    return source


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, dict]:
    loop = small("07_chunked_retnet", B=2, H=2, T=64, D=16, C=16)
    recurrence = small("11_recurrent_gla", B=2, H=2, T=32, D=16)
    jobs = [PieceJob(f"mlp-{level}", MLP.read_text(), level) for level in ("coarse", "medium")]
    jobs += [PieceJob("levels", RECURRENT_LAYER.read_text()), PieceJob("loop", loop),
             PieceJob("recurrence", recurrence), PieceJob("recurrence-fine", recurrence, "fine")]  # fmt: skip
    if os.environ.get("PIECES") == "all":
        jobs += [PieceJob(f"{p.stem}-{level}", p.read_text(), level) for p in ATTENTION for level in LEVELS]
    with Session(*make_home(folder), folder, 2) as session:
        session.run(jobs, 2)
        session.run([TaskJob(f"{job.id}-{i}", piece["source"], piece.get("sidecar")) for job in jobs
                     for i, piece in enumerate(session.answers[job.id]["subproblems"])], 2)  # fmt: skip
        assert session.leave() == 0
    assert not session.infra
    return session.answers


@pytest.mark.parametrize(("level", "count"), [("coarse", 2), ("medium", 3)])
def test_pieces_give_the_output_of_the_task_bit_for_bit(answers, level: str, count: int) -> None:
    answer = answers[f"mlp-{level}"]
    assert answer["findings"] == []
    assert len(answer["subproblems"]) == count
    assert answer["composition"]["proved"]
    assert answer["composition"]["covers"] == [s["id"] for s in answer["subproblems"]]


def test_a_model_is_shown_every_tensor_of_the_computation(answers) -> None:
    trace = answers["mlp-coarse"]["trace"]
    assert [row["op"] for row in trace if row["flops"]] == ["Linear", "relu", "Linear", "softmax"]
    assert trace[-1]["shape"] == [32, 16]


def test_parameters_belong_to_the_piece_that_uses_them(answers) -> None:
    first, second = (s["source"] for s in answers["mlp-coarse"]["subproblems"])
    assert "self.layers_0 = nn.Linear(in_features=64, out_features=48, bias=True)" in first
    assert "layers_1" not in first
    assert "layers_0" not in second


def test_a_loop_is_cut_between_its_state_and_what_reads_it(answers) -> None:
    answer = answers["loop"]
    assert answer["composition"]["proved"]
    first, second = answer["subproblems"]
    assert [i["from"] for i in first["inputs"]] == ["orig:k", "orig:v"]
    assert first["outputs"][0]["shape"] == [2, 3 * 2 * 16 * 16]  # the states that are read, packed
    assert second["inputs"][-1]["from"] == f"{first['id']}:0"


def test_a_recurrence_gives_a_step_and_a_scan(answers) -> None:
    answer = answers["recurrence"]
    assert answer["findings"] == []
    assert [s["id"] for s in answer["subproblems"]] == ["step", "scan"]
    assert {s["kind"] for s in answer["subproblems"]} == {"stepping_stone"}
    assert not answer["composition"]["claimed"]
    step, scan = answer["subproblems"]
    assert step["outputs"][0]["shape"] == [2, 2 * 16 * 16 + 2 * 16]  # state and output
    assert scan["outputs"][0]["shape"] == [2, 16, 2, 16]
    assert "for t in range(STEPS):" in scan["source"]


def test_a_finer_level_also_cuts_the_step(answers) -> None:
    answer = answers["recurrence-fine"]
    assert answer["findings"] == []
    *parts, scan = answer["subproblems"]
    assert len(parts) > 2
    assert scan["id"] == "scan"
    assert parts[-1]["depends_on"]


def test_a_recurrent_layer_is_cut_between_its_levels(answers) -> None:
    answer = answers["levels"]
    assert answer["findings"] == []
    assert answer["composition"]["proved"]
    first, second = (s["source"] for s in answer["subproblems"])
    assert "self.gru_weight_ih_l0" in first
    assert "self.gru_weight_ih_l0" not in second
    assert "self.gru_weight_ih_l2" in second


def test_a_tensor_that_the_model_keeps_and_overwrites_is_what_overwrites_it(answers) -> None:
    given = {i["from"] for s in answers["levels"]["subproblems"] for i in s["inputs"]}
    assert {"orig:x", "orig:start"} <= given


def test_moving_a_tensor_to_a_device_is_no_cast(answers) -> None:
    assert not any("wide" in s["source"] for s in answers["levels"]["subproblems"])


def test_every_piece_can_be_judged(answers) -> None:
    looked_at = {name: a for name, a in answers.items() if "usable" in a}
    assert len(looked_at) == sum(len(a.get("subproblems", [])) for a in answers.values())
    assert {name: a["reasons"] for name, a in looked_at.items() if not a["usable"]} == {}


@pytest.mark.skipif(os.environ.get("PIECES") != "all", reason="takes minutes; PIECES=all runs it")
def test_all_variants_of_linear_attention_are_taken_apart_at_all_levels(answers) -> None:
    for level in LEVELS:
        found = {p.stem: answers[f"{p.stem}-{level}"] for p in ATTENTION}
        proved = {name for name, a in found.items() if a["composition"]["proved"]}
        assert proved == set(found) - set(RECURRENT), level
        assert all(a["findings"] == [] for a in found.values()), level
    assert sum(len(answers[f"{p.stem}-coarse"]["subproblems"]) for p in ATTENTION) == 24


def test_quantiles_are_drawn_for_a_trial_as_the_piece_draws_them() -> None:
    space: dict = {"torch": torch}
    exec(fit.QUANTILE_HELPER, space)
    quantiles = [0.3 * level**3 - 0.1 for level in fit.LEVELS]
    for shape in ((), (0,), (5,), (3, fit.SPAN // 2 + 7)):
        torch.manual_seed(1)
        expected = space["drawn"](shape, quantiles)
        torch.manual_seed(1)
        assert torch.equal(fit.drawn_quickly(shape, quantiles), expected)
