"""A pack without a family has no recorder: its candidates run beside their inputs, and
verdicts say so."""

from __future__ import annotations

import worker_run

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


def test_verdicts_end_at_e2_with_the_reason(folder):
    task, candidate = folder / "task.py", folder / "candidate.py"
    task.write_text(TASK)
    candidate.write_text(TASK.replace("Model(", "ModelNew("))
    job = worker_run.Job("job", "c-cpu", task, candidate, family=None)
    answer = worker_run.run(*worker_run.make_home(folder), folder, [job]).answers["job"]
    assert (answer["verdict"], answer["evidence"]) == ("correct", "E2")
    assert "has no recorder" in answer["feedback"]
