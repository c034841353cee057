"""The seeds of the packs that run on the CPU: the verifier itself finds each correct,
with all its evidence (those of c-cpu and quill: tests/cli/pack.t), and none is a starter task."""
from __future__ import annotations

import ast
from pathlib import Path

import pytest
from small_loop import said, verify
from worker_run import ROOT

PACKS = ("c-cpu", "triton")
SEEDS = [
    (pack, p.name)
    for pack in PACKS
    for p in sorted((ROOT / "packs" / pack / "seeds").iterdir())
]
INTERPRETED = [(pack, name) for pack, name in SEEDS if pack == "triton"]


def folder_of(pack: str, seed: str) -> Path:
    return ROOT / "packs" / pack / "seeds" / seed


@pytest.mark.parametrize("pack, seed", INTERPRETED)
def test_the_verifier_finds_a_seed_correct(pack: str, seed: str) -> None:
    folder = folder_of(pack, seed)
    record = verify((folder / "task.py").read_text(), (folder / "solution.py").read_text(), pack)
    assert said(record) == ("correct", None, "E3"), record["feedback"]


def normalised(path: Path) -> str:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            del body[0]
    return ast.dump(tree)


@pytest.mark.parametrize("pack, seed", SEEDS)
def test_no_seed_is_a_starter_task(pack: str, seed: str) -> None:
    starter = {normalised(p): p.name for p in (ROOT / "tasks" / "starter").glob("*.py")}
    assert starter.get(normalised(folder_of(pack, seed) / "task.py")) is None
