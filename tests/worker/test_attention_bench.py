"""bench/attention.py on the CPU: every implementation is checked before it is timed, gets its own
layout, and ends up in the tables. The expert's package is a stand-in of the same interface."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from four_way import clock, experts, pages, points  # noqa: E402

SMALL = {"B": 2, "H": 3, "T": 16, "D": 8, "C": 8, "K": 4, "V": 8, "G": 2, "M": 4}

# Takes (B, T, H, D), as the real ones do, and computes in float64.
STAND_IN = '''
import torch
def parallel_retention(q, k, v, scale=None, **kwargs):
    assert q.dim() == 4 and scale is not None and not kwargs
    a, b, c = (x.double().transpose(1, 2) for x in (q, k, v))
    t, h = torch.arange(a.shape[2]), torch.arange(a.shape[1])
    gamma = (1 - 2.0 ** (-5.0 - h.double()))[:, None, None]
    decay = (gamma ** (t[:, None] - t[None, :]).clamp_min(0)).tril()
    return ((scale * (a @ b.mT) * decay) @ c).transpose(1, 2).to(q.dtype), None
'''

# What an export holds; the second one forgets the decay.
SOLUTION = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        steps = torch.arange(q.shape[2], dtype=q.dtype)
        gamma = (1 - 2.0 ** (-5.0 - torch.arange(q.shape[1], dtype=q.dtype)))[:, None, None]
        decay = (gamma ** (steps[:, None] - steps[None, :]).clamp_min(0)).tril()
        return ((q @ k.mT) * q.shape[-1] ** -0.5 * decay) @ v
"""
WRONG = SOLUTION.replace("* decay", "* (decay > 0)")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("bench")
    package = folder / "fla" / "ops"
    (package / "retention").mkdir(parents=True)
    for part in (folder / "fla", package):
        (part / "__init__.py").write_text("")
    (package / "retention" / "__init__.py").write_text(STAND_IN)
    source = (points.TASKS / "03_parallel_retnet.py").read_text()
    for archive, text in ("right", SOLUTION), ("wrong", WRONG):
        entry = folder / archive / "linear_attention-03"
        entry.mkdir(parents=True)
        size = {"B": 2, "H": 3, "D": 8, "T": 16}
        (entry / "task.py").write_text(points.defined(source, size))
        (entry / "meta.json").write_text('{"dsl": "", "dtype": "fp32"}')
        (entry / "solution.py").write_text(text)
        (entry / "solution_ported.py").write_text(text)
    yield folder


def bench(folder: Path, *more: str) -> list[dict]:
    argv = [sys.executable, ROOT / "bench" / "attention.py", "--device", "cpu", "--define", "B=2",
            "--define", "H=3", "--define", "D=8", "--warm-ms", "0", "--measure-ms", "1",
            "--out", folder / "out", *more]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (folder / "out" / "attention.csv").open() as file:
        return list(csv.DictReader(file))


def test_all_are_checked_timed_and_written_down(made: Path) -> None:
    rows = bench(made, "--task", "03_parallel_retnet", "--T", "16", "32", "--with", "eager,fla,ours",
                 "--ours", str(made / "right"))  # fmt: skip
    found = [(r["sweep"], r["T"], r["implementation"], r["layout"]) for r in rows]
    one = [("eager", "caller"), ("fla", "native"), ("fla", "caller"), ("ours", "caller")]
    assert found == [(s, t, *r) for s in "12" for t in ("16", "32") for r in one]
    assert all(r["status"] == "ok" and int(r["n"]) >= clock.LEAST for r in rows)
    assert all(float(r["p20"]) <= float(r["median"]) <= float(r["p80"]) for r in rows)
    assert all(float(r["error_ratio"]) < 1e-5 and r["truth"] == "float64" for r in rows)
    notes = [r["note"].rpartition("/")[2] for r in rows if r["implementation"] == "ours"]
    assert notes == ["solution_ported.py", "solution.py"] * 2, "another size: the original file"
    text = (made / "out" / "attention.md").read_text()
    assert "## 03_parallel_retnet" in text and "- T = 16: ours against " in text
    drawn = xml.parse(made / "out" / "attention.svg").getroot()
    assert len(drawn.findall("{*}polyline")) == 3


def test_a_wrong_kernel_is_reported_and_not_timed(made: Path) -> None:
    before = [pages.Row(1, "03_parallel_retnet", 32, "ours", "caller", "ok", 0.001, "float64", 2.5, 2.0, 3.0),
              pages.Row(1, "03_parallel_retnet", 32, "fla", "caller", "out of memory")]  # fmt: skip
    pages.write_csv(made / "before.csv", before)
    assert pages.read_csv(made / "before.csv") == before
    rows = bench(made, "--task", "03_parallel_retnet", "01_parallel_based", "--T", "16", "32",
                 "--sweeps", "1", "--with", "compile,fla,ours", "--compile-T", "64",
                 "--ours", str(made / "wrong"), "--have", str(made / "before.csv"))  # fmt: skip
    kept = [r for r in rows if (r["task"], r["T"]) == ("03_parallel_retnet", "32")]
    assert [r["median"] for r in kept] == ["2.5", ""], "measured before: not measured again"
    rows = [r for r in rows if r["T"] == "16"]
    by = {(r["task"][:2], r["implementation"], r["layout"]): r for r in rows}
    wrong = by["03", "ours", "caller"]
    assert wrong["status"].startswith("wrong: more than 0.01") and wrong["median"] == ""
    assert float(wrong["error_ratio"]) > 0.01
    assert by["03", "fla", "native"]["status"] == "ok"
    assert "flash-linear-attention does not have it" in by["01", "fla", "caller"]["status"]
    assert by["01", "ours", "caller"]["status"] == "not available: no kernel in fp32 for it"
    left_out = "not available: --compile-T leaves this size out"
    assert by["03", "compile", "caller"]["status"] == left_out


@pytest.mark.parametrize("stem", points.stems())
def test_every_variant_makes_a_point_that_its_own_reference_passes(stem: str) -> None:
    source = points.defined((points.TASKS / f"{stem}.py").read_text(), SMALL)
    point = points.Point(stem, source, "cpu", torch.float32)
    point.compute_truth()
    assert point.error(point.model()(*point.args.values())) < 1e-5
    assert point.truth_dtype == "float64" and point.truth.dtype == torch.float64
    names = [n for e in experts.EXPERTS[stem[:2]] for n in _named(e, point)]
    assert set(point.args) <= set(names), "the expert gets every argument"


def _named(expert: experts.Expert, point: points.Point) -> list[str]:
    """The arguments that a call looks up."""
    seen = []

    class Watched(dict):
        def __getitem__(self, name):
            seen.append(name)
            return super().__getitem__(name)

    expert.call(lambda *a, **k: None, Watched(point.args), 1.0)
    return seen


def test_quantiles_and_noise() -> None:
    samples = clock.Samples([5.0, 1.0, 2.0, 4.0, 3.0])
    assert samples.median == 3.0 and samples.at(0.2) == pytest.approx(1.8)
    assert samples.at(0.8) == pytest.approx(4.2) and clock.Samples([7.0]).at(0.8) == 7.0

    def row(sweep: int, name: str, ms: float) -> pages.Row:
        return pages.Row(sweep, "t", 8, name, "caller", "ok", median=ms)

    near = [row(1, "ours", 1.0), row(2, "ours", 1.2), row(1, "fla", 1.1), row(2, "fla", 1.15)]
    assert pages.verdict(near, "t", 8).endswith("noise")
    far = [row(1, "ours", 1.0), row(2, "ours", 1.1), row(1, "fla", 3.0), row(1, "eager", 9.0)]
    assert pages.verdict(far, "t", 8) == "ours against fla caller: 3.00 times as fast"
