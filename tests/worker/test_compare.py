"""Small outputs are compared in a shorter way than large ones: every figure is the same, bit for
bit."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from judge import compare

SPOILS = {"right": 0.0, "near": 1e-6, "off": 1e-3, "wrong": 1.0}
WIDE = {torch.float32: torch.float64, torch.float64: torch.float64, torch.bfloat16: torch.float32}


def both(x: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor | None) -> list[dict]:
    by = compare.sizes(truth, every=True)
    assert by.ready is not None
    ways = by, dataclasses.replace(by, ready=None)
    return [dataclasses.asdict(compare.measure(x, truth, eager, way)) for way in ways]


@pytest.mark.parametrize("shape", [(), (7,), (3, 1), (16, 33), (4, 8, 9), (32, 5, 7, 3), (1, 5000)], ids=str)
@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("spoil", [*SPOILS, "nan", "infinite", "zero truth", "infinite truth"])
def test_the_short_way_gives_the_same_figures(shape: tuple, dtype: torch.dtype, spoil: str) -> None:
    draw = torch.Generator().manual_seed(7)
    truth = torch.randn(shape, generator=draw).to(WIDE[dtype])
    eager = (truth * (1 + 1e-4 * torch.randn(shape, generator=draw))).to(dtype)
    x = (truth + SPOILS.get(spoil, 0.0) * torch.randn(shape, generator=draw)).to(dtype)
    if spoil in ("nan", "infinite"):
        x.view(-1)[0] = float("nan") if spoil == "nan" else float("-inf")
    truth = truth * 0 if spoil == "zero truth" else truth
    if spoil == "infinite truth":
        for t in (truth, eager, x):
            t.view(-1)[::3], t.view(-1)[-1] = float("-inf"), float("inf")
    for reference in (eager, None):
        short, long = both(x, truth, reference)
        assert short == long


@pytest.mark.parametrize("chunk", [1 << 18, 512, 60, 7, 1])
def test_chunks_of_any_size_give_the_same_figures(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = torch.Generator().manual_seed(8)
    truth = torch.randn(6, 5, 4, 3, generator=draw)
    x = truth + 1e-3 * torch.randn(truth.shape, generator=draw)
    by = dataclasses.replace(compare.sizes(truth, every=True), ready=None)
    whole = dataclasses.astuple(compare.measure(x, truth, truth, by))
    monkeypatch.setitem(compare.CHUNK, "cpu", chunk)
    by = dataclasses.replace(compare.sizes(truth, every=True), ready=None)
    found = dataclasses.astuple(compare.measure(x, truth, truth, by))
    assert found[:-1] == pytest.approx(whole[:-1], rel=1e-9)


@pytest.mark.parametrize("axis", range(3))
def test_each_index_of_each_dimension_is_a_slice(axis: int) -> None:
    """One of which may not be wrong, little as it is of all others."""
    truth = torch.randn(20, 30, 40, generator=torch.Generator().manual_seed(9))
    x = truth.clone()
    x.select(axis, 7).mul_(1.1)
    for e in both(x, truth, None):
        assert e["ratio"] == pytest.approx(0.1, rel=0.2) and e["outlier"] < 0.1
    if axis:
        assert compare.measure(x, truth, None).ratio < 0.05


INF = float("inf")


@pytest.mark.parametrize("x, wrong", [(-INF, 0), (INF, 1), (-3e38, 1), (float("nan"), 1), (0.0, 1)])
def test_an_infinity_is_right_where_the_truth_has_the_same(x: float, wrong: int) -> None:
    truth = torch.tensor([[-INF, 2.0, 3.0], [1.0, -INF, 5.0]])
    got = truth.clone()
    got[0, 0] = x
    for e in both(got, truth, truth):
        assert e["not_finite"] == wrong and (e["ratio"] == 0) == (not wrong) == e["stock_close"]


def test_sizes_are_those_of_the_finite_elements() -> None:
    truth = torch.full((2, 1000), 3.0)
    part = torch.cat([truth, torch.full_like(truth, -INF)], 1)
    assert torch.equal(compare.sizes(part).rms[0], compare.sizes(truth).rms[0])
    for e in both(torch.where(part.isinf(), part, part + 0.03), part, None):
        assert e["ratio"] == pytest.approx(0.01, rel=1e-4) and e["not_finite"] == 0


def test_a_reference_that_is_not_finite_is_compared_as_allclose_does() -> None:
    truth = torch.ones(4, dtype=torch.float64)
    eager = torch.tensor([1.0, float("inf"), float("nan"), 1.0])
    short, long = both(eager.clone(), truth, eager)
    assert short == long and short["near"] == 0.75
