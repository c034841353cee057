"""Tasks are taken apart without a model: the pieces are accepted, and give the task's output bit
for bit when they run one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from piece_jobs import PieceJob, source_of
from worker_run import ROOT, make_home
from worker_session import Session

MLP = ROOT / "tests" / "fixtures" / "pieces" / "mlp.py"


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, dict]:
    jobs = [PieceJob(f"mlp-{level}", source_of(MLP), level) for level in ("coarse", "medium")]
    with Session(*make_home(folder), folder, 2) as session:
        session.run(jobs, 2)
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
