"""What is delivered is what was verified: a ModelNew made from the trace verifies like any
candidate, and nothing of the candidate's own text but its kernels is in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job
from worker_session import Session

FILES = ["triton/09_batch_norm", "triton/11_linear_relu", "triton/14_cumsum", "c-cpu/17_max_pool2d",
         "c-cpu/11_linear_relu"]  # fmt: skip


@pytest.fixture(scope="module")
def verified(folder: Path) -> dict[str, tuple[dict, dict]]:
    """Each file's record, and the record of its ported text."""
    program, home = worker_run.make_home(folder)
    jobs, again = [], []
    for name in FILES:
        pack, _, stem = name.partition("/")
        task = ROOT / "tasks" / "starter" / f"{stem}.py"
        jobs.append(Job(f"{pack}-{stem}", pack, task, VERIFY / f"{name}.py"))
    with Session(program, home, folder, 2) as worker:
        worker.run(jobs, 2)
        for job in jobs:
            text = folder / f"{job.id}.py"
            text.write_text(worker.answers[job.id]["ported"])
            again.append(Job(f"{job.id}-ported", job.pack, job.task, text))
        worker.run(again, 2)
        found = worker.answers
    return {name: (found[job.id], found[f"{job.id}-ported"]) for name, job in zip(FILES, jobs)}


@pytest.mark.parametrize("name", FILES)
def test_the_ported_file_is_correct_at_e3(name: str, verified: dict) -> None:
    record, again = verified[name]
    assert (record["evidence"], again["evidence"]) == ("E3", "E3"), again["feedback"]
    assert again["launches"] == record["launches"]


@pytest.mark.parametrize("name", FILES)
def test_it_allocates_and_launches_and_does_nothing_else(name: str, verified: dict) -> None:
    text = verified[name][0]["ported"]
    forward = text.partition("def forward")[2]
    assert "torch.empty(" in forward and "import os" not in text
    assert not any(word in forward for word in ("if ", "for ", "while ", "torch.nn.functional"))
