"""The seeds of the packs whose kernels nvcc compiles: each is recorded in fp32 and in bf16, and
what it launches compiles; host functions are expanded into launches. Whether it computes the right
thing only a GPU can say."""
from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKS = ("cuda", "thunderkittens")
SEEDS = [(pack, p.name) for pack in PACKS for p in sorted((ROOT / "packs" / pack / "seeds").glob("*"))]
# nvcc takes seconds: every third seed in make test, all in make test-long.
COMPILED = SEEDS if os.environ.get("SEEDS") == "all" else SEEDS[::3]

def needs(pack: str) -> None:
    if not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)):
        pytest.skip("there is no nvcc")
    if pack == "thunderkittens" and not os.environ.get("THUNDERKITTENS_ROOT"):
        pytest.skip("THUNDERKITTENS_ROOT names no checkout of ThunderKittens")


def check(pack: str, folder: Path) -> None:
    needs(pack)
    for answer in expanded(pack, folder):
        assert answer.get("launches") and answer["bytes"] > 1000, answer
        assert pack == "cuda" or answer["nodes"]


@functools.cache
def expanded(pack: str, folder: Path) -> list[dict]:
    """What a seed launches, in fp32 and in bf16."""
    script = Path(__file__).with_name("seed_compile.py")
    argv = [sys.executable, "-B", script, pack, "fp32,bf16", folder]
    done = subprocess.run(argv, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"seed"')]
    assert len(found) == 2, done.stderr[-2000:]
    return found


@pytest.mark.parametrize("pack, seed", COMPILED)
def test_a_seed_is_recorded_in_both_precisions_and_its_kernels_compile(pack: str, seed: str) -> None:
    check(pack, ROOT / "packs" / pack / "seeds" / seed)


TASKS = {
    "cuda": """
class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(features))
    def forward(self, x):
        return torch.relu(x + self.bias)
def get_inputs():
    return [torch.randn(33, 70)]
def get_init_inputs():
    return [70]
""",
    "thunderkittens": """
class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
    def forward(self, x):
        return torch.tanh(x * self.factor)
def get_inputs():
    return [torch.randn(48, 128)]
def get_init_inputs():
    return [0.5]
""",
}


@pytest.mark.parametrize("pack", TASKS)
def test_the_example_of_a_card_is_recorded_in_both_precisions_and_compiles(
    pack: str, tmp_path: Path
) -> None:
    card = (ROOT / "packs" / pack / "card.md").read_text()
    (tmp_path / "task.py").write_text("import torch\n" + TASKS[pack])
    (tmp_path / "solution.py").write_text(card.split("```python\n")[1].split("```")[0])
    check(pack, tmp_path)


@pytest.mark.parametrize("pack, seed", SEEDS)
def test_a_seed_says_where_it_was_verified_or_why_not(pack: str, seed: str) -> None:
    meta = json.loads((ROOT / "packs" / pack / "seeds" / seed / "meta.json").read_text())
    assert meta["verified_on"] if meta["verified"] else meta["why_not"]
