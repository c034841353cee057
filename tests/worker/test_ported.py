"""What is delivered is what was verified: a ModelNew made from the trace verifies like any
candidate, and nothing of the candidate's own text but its kernels is in it."""

from __future__ import annotations

import functools

import pytest
from small_loop import verify
from worker_run import ROOT, VERIFY

FILES = ["triton/09_batch_norm", "triton/11_linear_relu", "triton/14_cumsum", "c-cpu/17_max_pool2d",
         "c-cpu/11_linear_relu"]  # fmt: skip


@functools.cache
def verified(name: str) -> tuple[dict, dict]:
    """A file's record, and the record of its ported text."""
    pack, _, stem = name.partition("/")
    task = (ROOT / "tasks" / "starter" / f"{stem}.py").read_text()
    record = verify(task, (VERIFY / f"{name}.py").read_text(), pack)
    return record, verify(task, record["ported"], pack)


@pytest.mark.parametrize("name", FILES)
def test_the_ported_file_is_correct_at_e3(name: str) -> None:
    record, again = verified(name)
    assert (record["evidence"], again["evidence"]) == ("E3", "E3"), again["feedback"]
    assert again["launches"] == record["launches"]


@pytest.mark.parametrize("name", FILES)
def test_it_allocates_and_launches_and_does_nothing_else(name: str) -> None:
    text = verified(name)[0]["ported"]
    forward = text.partition("def forward")[2]
    assert "torch.empty(" in forward and "import os" not in text
    assert not any(word in forward for word in ("if ", "for ", "while ", "torch.nn.functional"))
