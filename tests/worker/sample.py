"""What `make quick` tries of candidates: in one worker, for each language that the CPU has, one that
is right and one that is not. tests/worker/test_hostile.py and test_seeds.py try the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, Job, Outcome, as_expected, described, hostile_job

PACKS = [path.parent.name for path in sorted((ROOT / "packs").glob("*/pack.json"))
         if "cpu" in json.loads(path.read_text())["run"]["devices"]]  # fmt: skip
HOSTILE = ("001_torch_beside_kernel", "143_c_const_written")


def right(pack: str) -> Job:
    seed = min((ROOT / "packs" / pack / "seeds").iterdir())
    return Job(f"right-{pack}", pack, seed / "task.py", seed / "solution.py")


def smuggled(pack: str) -> Job:
    """Source that the language's own translator did not make."""
    folder = ROOT / "packs" / "common" / "smuggled"
    return Job(f"smuggled-{pack}", pack, folder / "task.py", folder / "solution.py")


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    jobs = [make(pack) for make in (right, smuggled) for pack in PACKS] + list(map(hostile_job, HOSTILE))
    return worker_run.run(*worker_run.make_home(folder), folder, jobs)


@pytest.mark.parametrize("pack", PACKS)
def test_what_is_right_is_correct(outcome: Outcome, pack: str) -> None:
    answer = outcome.answers[f"right-{pack}"]
    assert (answer["verdict"], answer["evidence"]) == ("correct", "E3"), described(pack, answer)


@pytest.mark.parametrize("pack", PACKS)
def test_a_kernel_of_no_language_is_a_compile_error(outcome: Outcome, pack: str) -> None:
    assert outcome.answers[f"smuggled-{pack}"]["verdict"] == "compile_error"


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_is_refused(outcome: Outcome, name: str) -> None:
    assert as_expected(outcome.answers[name], name), described(name, outcome.answers[name])


def test_the_worker_ends_well(outcome: Outcome) -> None:
    assert (outcome.status, outcome.infra) == (0, {}), outcome.log
