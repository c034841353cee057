"""CuTe DSL has no recorder: its candidates run beside their inputs, and verdicts say so."""

from __future__ import annotations

from pathlib import Path

import pytest
import worker_run
from pack_packages import missing

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(16, 16)]


def get_init_inputs():
    return []
"""
INSTALLED = not missing("cute-dsl")


def judged(folder: Path) -> worker_run.Outcome:
    (folder / "task.py").write_text(TASK)
    (folder / "candidate.py").write_text(TASK.replace("Model(", "ModelNew("))
    job = worker_run.Job("job", "cute-dsl", folder / "task.py", folder / "candidate.py")
    return worker_run.run(*worker_run.make_home(folder), folder, [job])


@pytest.mark.skipif(INSTALLED, reason="nvidia-cutlass-dsl is installed")
def test_a_machine_without_the_package_says_so(folder):
    assert "the package nvidia-cutlass-dsl is not installed" in judged(folder).infra["job"]


@pytest.mark.skipif(not INSTALLED, reason="nvidia-cutlass-dsl is not installed")
def test_verdicts_end_at_e2_with_the_reason(folder):
    answer = judged(folder).answers["job"]
    assert (answer["verdict"], answer["evidence"]) == ("correct", "E2")
    assert "has no recorder" in answer["feedback"]
