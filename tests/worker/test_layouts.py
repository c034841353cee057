"""Which tasks only move data, and what a trace may not do for them."""

from __future__ import annotations

import sys

import pytest
from forging import SCALE, task
from worker_run import ROOT

sys.path.insert(0, str(ROOT / "worker"))

from judge import layouts, truth  # noqa: E402
from judge.traces import Buffer, Call, Move, Refused, View  # noqa: E402


def moves(text: str) -> bool:
    return layouts.task_only_moves(truth.Reference(text, "fp32", "cpu", 1), "seed")


MOVING = {
    "a copy": "return x.clone()",
    "a transposition": "return x.t().contiguous()",
    "rows in another order": "return x.flip(0).roll(1, 1)",
    "a concatenation": "return torch.cat([x, x[:, :3]], 1)",
    "padding": "return torch.nn.functional.pad(x, (2, 1), value=0.5)",
    "two outputs": "return x[:4].clone(), x[4:].t().contiguous()",
    "a cast": "return x.to(torch.float16)",
}
COMPUTING = {
    "a relu": "return torch.relu(x)",
    "the largest of each row": "return x.amax(1)",
    "pooling": "return torch.nn.functional.max_pool1d(x, 2)",
    "sorting": "return x.sort(1).values",
    "a clamp": "return x.clamp(-0.5, 0.5)",
    "a product": "return x * 2",
    "a copy beside a sum": "return x.clone(), x.sum(1)",
    "indices": "return x.argmax(1)",
}


@pytest.mark.parametrize("name", MOVING)
def test_a_task_that_moves_is_known(name: str) -> None:
    assert moves(task(f"def forward(self, x):\n    {MOVING[name]}"))


@pytest.mark.parametrize("name", COMPUTING)
def test_a_task_that_computes_is_none(name: str) -> None:
    assert not moves(task(f"def forward(self, x):\n    {COMPUTING[name]}"))


def test_inputs_that_are_never_negative_do_not_hide_a_relu() -> None:
    assert not moves(task("def forward(self, x):\n    return torch.relu(x)", "torch.rand(8, 32)"))


def test_a_large_task_in_few_bits_computes_though_every_value_occurs_in_its_inputs() -> None:
    text = task("def forward(self, x):\n    return x / (1 + x.abs())", "torch.rand(1024, 4096)")
    assert not layouts.task_only_moves(truth.Reference(text, "bf16", "cpu", 1), "seed")


def test_weights_that_start_at_the_identity_do_not_hide_a_product() -> None:
    assert not moves(SCALE)


@pytest.mark.parametrize("kind, allowed", [("input", False), ("new", False), ("kept", False),
                                           ("const", True), ("state", True)])  # fmt: skip
def test_only_constants_and_parameters_may_be_copied_there(kind: str, allowed: bool) -> None:
    buffers = [Buffer(kind, 0, 16, "float32"), Buffer("new", None, 16, "float32")]
    node = Move("copy", View(1, "float32", 0, (4,), (1,)), View(0, "float32", 0, (4,), (1,)))
    call = Call(buffers, [node], {})
    if allowed:
        layouts.check_layouts(call)
        return
    with pytest.raises(Refused) as refused:
        layouts.check_layouts(call)
    assert refused.value.rule == "moves"
