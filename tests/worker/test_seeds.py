"""The seeds of the packs that run on the CPU: the verifier itself finds each correct,
with all its evidence (those of c-cpu and quill: tests/cli/pack.t), and none is a starter task."""
from __future__ import annotations

import ast
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, Job, Outcome

PACKS = ("c-cpu", "triton")
SEEDS = [
    (pack, p.name)
    for pack in PACKS
    for p in sorted((ROOT / "packs" / pack / "seeds").iterdir())
]
INTERPRETED = [(pack, name) for pack, name in SEEDS if pack == "triton"]


def folder_of(pack: str, seed: str) -> Path:
    return ROOT / "packs" / pack / "seeds" / seed


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    made = Path(tempfile.mkdtemp(prefix="seeds-"))
    made.chmod(0o755)
    program, home = worker_run.make_home(made)
    jobs = [
        Job(f"{pack}-{seed}", pack, folder / "task.py", folder / "solution.py")
        for pack, seed in INTERPRETED
        for folder in [folder_of(pack, seed)]
    ]
    yield worker_run.run(program, home, made, jobs, children=2)
    shutil.rmtree(made)


@pytest.mark.parametrize("pack, seed", INTERPRETED)
def test_the_verifier_finds_a_seed_correct(outcome: Outcome, pack: str, seed: str) -> None:
    name = f"{pack}-{seed}"
    assert name in outcome.answers, outcome.infra.get(name, outcome.log)
    answer = outcome.answers[name]
    assert (answer["verdict"], answer["evidence"]) == ("correct", "E3"), answer["feedback"]


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
