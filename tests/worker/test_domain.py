"""Which changed inputs a task is tried with: seen from how get_inputs makes them, and told by a
sidecar."""

from __future__ import annotations

import sys
from pathlib import Path

import forked
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

from judge import domain, sidecar, truth, verdict  # noqa: E402
from shared import inputs, structure  # noqa: E402

KINDS = {domain.ZERO: "fixed", domain.FREE: "free", domain.LINEAR: "linear", domain.FIXED: "fixed"}
SOURCE = """import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def forward(self, a, b=None, c=None):
        return torch.relu(a)

def get_inputs():
    {}

def get_init_inputs():
    return []
"""


def source(*lines: str) -> str:
    return SOURCE.format("\n    ".join(lines))


def reference(text: str, **spec: object) -> truth.Reference:
    return truth.Reference(text, "fp32", "cpu", 1, declared=sidecar.of({"sidecar": spec}))


def kinds(*lines: str) -> list[str]:
    made = reference(source(*lines))
    return [KINDS[label.kind] for labels in made.domain.seen for label in labels]


@pytest.mark.parametrize(
    "made",
    ["torch.rand(4, 4)", "torch.randn(4, 4)", "torch.rand_like(torch.ones(4))", "torch.randn_like(torch.ones(4))",
     "torch.empty(4).uniform_(-1, 1)", "torch.empty(4).normal_()", "torch.normal(0.0, 1.0, size=(4,))",
     "nn.init.xavier_uniform_(torch.empty(4, 4))", "torch.rand(4) * 5 + 2", "1 - torch.rand(4)", "-torch.rand(4)",
     "torch.randn(4) / math.sqrt(4)", "torch.randn(4) * torch.rand(())", "torch.randn(4) - torch.tensor(0.5)",
     "torch.rand(4).mul_(2).sub_(1)", "torch.rand(4, 4).half().t().contiguous()[1:].float()",
     "torch.rand(4, 4).view(2, 8).permute(1, 0).reshape(-1).unsqueeze(0).expand(3, 16)",
     "torch.cat([torch.rand(2), torch.randn(2)])", "torch.stack([torch.rand(2)] * 2).flip(0).repeat(2, 1)",
     "torch.randn(4, requires_grad=True)"],
)  # fmt: skip
def test_what_comes_straight_from_a_generator_may_be_anything(made: str) -> None:
    assert kinds(f"return [{made}]") == ["free"]


@pytest.mark.parametrize(
    "made",
    ["torch.triu(a)", "a.tril_(-1)", "a + a.T", "(a + a.mT) / 2", "a - torch.randn(4, 4)", "torch.diag(a[0])",
     "a * torch.ones(4, 4).tril()", "a.masked_fill(torch.ones(4, 4).triu(1).bool(), 0.0)", "F.pad(a, (1, 1))",
     "a * (torch.rand(4, 4) > 0.5)", "torch.where(torch.rand(4, 4) > 0.5, a, 0.0)", "F.dropout(a)"],
)  # fmt: skip
def test_linear_steps_keep_zeros_and_symmetries(made: str) -> None:
    assert kinds("a = torch.randn(4, 4)", f"return [{made}]") == ["linear"]


@pytest.mark.parametrize(
    "made",
    ["torch.softmax(a, -1)", "a.sigmoid()", "a.sort()[0]", "(a > 0).float()", "a.cumsum(0)", "a.exp()", "a * a",
     "a - a.mean()", "a / a.norm()", "F.normalize(a)", "a @ a.T", "a.clamp(-1, 1)", "a * (a > 0)", "a.relu_()",
     "a.masked_fill(a < 0, 0.0)", "torch.where(a > 0, a, 0.0)", "a.tril() + 1", "a + torch.arange(4)",
     "a / a.max().item()", "torch.gather(a, 1, a.argsort(1))", "a.masked_fill(torch.eye(4).bool(), -math.inf)",
     "F.one_hot(torch.randint(0, 3, (4,)), 3).float()", "torch.randint(0, 2, (4,)).float()", "torch.randperm(4) * 1.0",
     "torch.bernoulli(torch.rand(4))", "torch.empty(4).exponential_()", "torch.from_numpy(np.random.rand(4)).float()",
     "torch.tensor([1.0, 2.0])", "torch.ones(4)", "torch.zeros(4)", "torch.linspace(0, 1, 4)"],
)  # fmt: skip
def test_everything_else_keeps_its_values(made: str) -> None:
    made_of = reference(source("a = torch.randn(4, 4)", f"return [{made}]"))
    assert not any(made_of.domain.any(v) for v in ("signed", "scaled", "permuted"))
    plain = made_of.make(3, "plain")
    assert all(torch.equal(x, y) for v in ("signed", "scaled") for x, y in zip(plain, made_of.make(3, v)))


def test_what_is_written_in_place_counts() -> None:
    assert kinds("a = torch.randn(4, 4)", "a[:, 0] = 0", "return [a]") == ["linear"]
    assert kinds("a = torch.randn(4, 4)", "a[0, 0] = 7", "return [a]") == ["fixed"]
    assert kinds("a = torch.randn(4, 4)", "a[a < 0] = 0", "return [a]") == ["fixed"]
    assert kinds("a = torch.empty(4)", "a[:2].normal_()", "a[2:].uniform_()", "return [a]") == ["free"]
    assert kinds("a = torch.zeros(4, 4)", "a.view(-1).normal_()", "return [a]") == ["free"]
    assert kinds("a = torch.zeros(4)", "a[:2] = torch.rand(2)", "return [a]") == ["linear"]


def test_tensors_in_lists_and_dicts_have_labels_of_their_own() -> None:
    made = "[[torch.rand(2), {'k': torch.rand(2).sort()[0]}], 0.5, (torch.triu(torch.rand(2, 2)),)]"
    assert kinds(f"return {made}") == ["free", "fixed", "linear"]
    found = reference(source(f"return {made}"))
    plain, large = (structure.tensors(found.make(1, v)) for v in ("plain", "scaled"))
    ratios = [round(float(y.abs().sum() / x.sum())) for x, y in zip(plain, large)]
    assert ratios == [100, 1, 100]


def test_tensors_of_the_same_draws_change_together_or_not_at_all() -> None:
    assert kinds("a = torch.randn(4)", "return [a, a.exp()]") == ["fixed", "fixed"]
    assert kinds("a = torch.rand(4)", "return [a, a + torch.rand(4)]") == ["linear", "linear"]
    assert kinds("a = torch.rand(2, 3)", "return [a, a.T, torch.rand(1)]") == ["free"] * 3


@pytest.mark.parametrize(
    "made, low, high",
    [("torch.rand(999)", -1, 1), ("torch.rand(999) * 7", -7, 7), ("torch.rand(999) * torch.tensor(1 / 8)", -1 / 8, 1 / 8)],
)  # fmt: skip
def test_what_is_never_negative_is_stretched_as_far_below_zero(made: str, low: float, high: float) -> None:
    (x,), (y,) = (reference(source(f"return [{made}]")).make(1, v) for v in ("plain", "signed"))
    assert low <= float(y.min()) < 0.9 * low and 0.9 * high < float(y.max()) <= high
    assert torch.equal(x.argsort(), y.argsort())


@pytest.mark.parametrize("made", ["torch.randn(9)", "torch.rand(9) * 2 - 1", "torch.triu(torch.rand(3, 3))"])
def test_what_has_both_signs_or_zeros_by_construction_is_negated(made: str) -> None:
    (x,), (y,) = (reference(source(f"return [{made}]")).make(1, v) for v in ("plain", "signed"))
    assert torch.equal(y, -x)


@pytest.mark.parametrize("made", ["torch.rand(9) * 0.4 + 0.6", "-torch.rand(9)", "torch.rand(9) - 2"])
def test_an_offset_or_a_minus_sign_says_on_which_side_of_zero_inputs_lie(made: str) -> None:
    """A decay between 0.6 and 1 may be large, but nobody meant it to be negative."""
    found = reference(source(f"return [{made}]"))
    assert found.domain.any("scaled") and not found.domain.any("signed")


def test_scaled_values_have_both_signs_where_inputs_may_have_them() -> None:
    made = ["torch.rand(999)", "torch.rand(999) * 0.4 + 0.6", "torch.triu(torch.rand(30, 30))", "torch.rand(999).sort()[0]"]
    found = reference(source(f"return [{', '.join(made)}]"))
    plain, large = (found.make(1, v) for v in ("plain", "scaled"))
    ratios = [(y / x).nan_to_num(1) for x, y in zip(plain, large)]
    assert [sorted({round(float(r)) for r in one} - {1}) for one in map(torch.flatten, ratios)] == [
        [-100, 100], [100], [100], []]  # fmt: skip
    assert 0.15 < float((ratios[0] < 0).float().mean()) < 0.35
    calm = found.make(1, "scaled, no signs")
    assert torch.equal(calm[0], 100 * plain[0]) and torch.equal(calm[1], large[1])
    left_out = reference(source("return [torch.rand(999)]"), variants=["scaled"])
    assert float(left_out.make(1, "scaled")[0].min()) >= 0, "a sidecar that leaves out other signs"


def test_equal_values_are_scaled_alike() -> None:
    text = source("a = torch.rand(3, 4)", "return [a, a.T.contiguous(), a.repeat(2, 1), a[:1].expand(5, 4)]")
    a, turned, twice, wide = reference(text).make(1, "scaled")
    assert bool((a < 0).any() & (a > 0).any())
    assert torch.equal(turned, a.T) and torch.equal(twice, torch.cat([a, a])) and torch.equal(wide, a[:1].expand(5, 4))


@pytest.mark.parametrize("forward, tried", [
    ("a + 1", "scaled"), ("torch.log(a + 1)", "scaled, no signs"), ("torch.exp(a)", "tenfold"),
    ("torch.exp(a.exp()) * a.sqrt()", None)])  # fmt: skip
def test_a_reference_has_the_strongest_scaled_inputs_that_it_takes(forward: str, tried: str | None) -> None:
    pair = reference(source("return [torch.rand(8, 64)]").replace("torch.relu(a)", forward)).fresh()
    try:
        assert pair.expect_exact("seed", "label", "scaled").variant == tried
    except truth.Unusable:
        assert tried is None


def test_watching_changes_no_draw() -> None:
    text = source("a = torch.empty(9).normal_()", "return [torch.rand(9), F.dropout(a), torch.randperm(9)]")
    space = inputs.namespace(text, "task")
    before = inputs.drawn(space, 0, "cpu")
    domain.labels(text, space, "cpu")
    with domain._Watch():
        watched = inputs.drawn(space, 0, "cpu")
    after = inputs.drawn(space, 0, "cpu")
    assert all(torch.equal(x, y) and torch.equal(x, z) for x, y, z in zip(before, watched, after))


def test_a_task_is_watched_once() -> None:
    """Every trial, and every candidate, has the same labels."""
    text = source("get_inputs.calls = getattr(get_inputs, 'calls', 0) + 1", "return [torch.rand(3)]")
    made = reference(text)
    for variant in ("signed", "scaled", "signed"):
        made.make(1, variant)
    assert made.space["get_inputs"].calls == 4
    assert reference(text).domain.seen is made.domain.seen


# ---- sidecars ----------------------------------------------------------------------


PAIR = source("return [torch.rand(4, 4), torch.rand(4, 4).sort()[0]]")


def test_a_sidecar_wins_over_what_was_seen() -> None:
    made = reference(PAIR, inputs={"a": [], "b": ["signed", "scaled"]})
    (a, b), (same, other) = (made.make(1, v) for v in ("plain", "signed"))
    assert torch.equal(a, same) and float(other.min()) < 0
    assert torch.equal(made.make(1, "scaled")[1], 100 * b)


@pytest.mark.parametrize(
    "spec, moved",
    [({}, None), ({"variants": ["permuted"]}, [True, True]), ({"inputs": {"b": ["permuted"]}}, [False, True])],
)
def test_rows_change_their_order_only_where_a_sidecar_says_so(spec: dict, moved: list | None) -> None:
    made = reference(PAIR, **spec)
    assert ("permuted" in truth.variants(made)) == (moved is not None)
    if moved:
        pairs = list(zip(made.make(1, "plain"), made.make(1, "permuted")))
        assert [not torch.equal(x, y) for x, y in pairs] == moved
        assert all(torch.equal(x.sum(0).sort()[0], y.sum(0).sort()[0]) or y.sum(0).allclose(x.sum(0)) for x, y in pairs)


def test_what_is_not_tried_has_a_reason() -> None:
    fixed = reference(source("return [torch.rand(4).sort()[0]]"))
    assert truth.variants(fixed) == []
    assert truth.left_out(fixed) == {v: "no input may change in this way" for v in ("signed", "scaled")}
    made = reference(PAIR, variants=["signed"])
    assert truth.left_out(made) == {"scaled": "the task's sidecar leaves it out"}
    assert truth.left_out(reference(PAIR)) == {}


@pytest.mark.parametrize(
    "spec, named",
    [({}, "b"), ({"inputs": {"b": []}}, None), ({"inputs": {"a": []}}, "b"), ({"variants": []}, None)],
)
def test_the_check_of_tasks_names_inputs_that_nothing_is_known_of(spec: dict, named: str | None) -> None:
    job = {"task": {"id": "tests/07_pair", "source": PAIR, "sidecar": spec}, "precision": "fp32",
           "device": "cpu", "seed": "s", "kind": "task"}  # fmt: skip
    answer = next_value(verdict.look_at_task(job, {}))
    assert answer["usable"] and len(answer["notes"]) == (named is not None)
    if named:
        assert answer["notes"][0].startswith(f"{named}: ")
        assert '{"inputs": {"b": []}} in 07_pair.json' in answer["notes"][0]


def test_inputs_are_looked_at_without_the_compiler_of_torch() -> None:
    """To import it takes longer than to import torch."""
    code = f"""import sys
from judge import truth
labels = truth.Reference({source("return [torch.randn(4)]")!r}, "fp32", "cpu", 1).domain.seen
result = [len(labels), "torch._dynamo" in sys.modules]
"""
    assert forked.run(ROOT, code) == [1, False]


def next_value(steps) -> dict:  # noqa: ANN001
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value
