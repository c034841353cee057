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


# What a candidate returns, and its verdict.
RETURNS = {
    "right": ("torch.relu(x)", "correct"),
    "larger": ("torch.relu(x).repeat(64, 64)", "wrong_shape"),
    "smaller": ("torch.relu(x)[:4]", "wrong_shape"),
    "two": ("(torch.relu(x), x)", "wrong_shape"),
    "wider": ("torch.relu(x).double()", "wrong_dtype"),
}


def test_verdicts_end_at_e2_and_wrong_shapes_are_called_so(folder):
    task = folder / "task.py"
    task.write_text(TASK)
    jobs = []
    for name, (returned, _) in RETURNS.items():
        candidate = folder / f"{name}.py"
        text = TASK.replace("Model(", "ModelNew(").replace("torch.relu(x)", returned)
        candidate.write_text(text)
        jobs.append(worker_run.Job(name, "c-cpu", task, candidate, family=None))
    answers = worker_run.run(*worker_run.make_home(folder), folder, jobs, 2).answers
    assert {name: a["verdict"] for name, a in answers.items()} == {n: v for n, (_, v) in RETURNS.items()}
    assert answers["right"]["evidence"] == "E2"
    assert answers["right"]["feedback"] == ""  # what the language lacks is not the model's matter
    assert "[1024, 1024], expected [16, 16]" in answers["larger"]["feedback"]
