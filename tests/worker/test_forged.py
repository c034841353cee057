"""A recorder that was replaced entirely: whatever bytes it answers with, nothing is found
correct that kernels did not compute, and nothing is blamed on the machinery. The forged_*.py
have the bytes; one worker judges them all."""

from __future__ import annotations

import json
from pathlib import Path

import forged_c
import forged_kernels
import forged_memory
import forged_outputs
import pytest
import worker_run
from worker_run import ROOT, Outcome, described

PACKS = ROOT / "tests" / "fixtures" / "packs"
TABLES = [part.forgery for part in (forged_memory, forged_outputs, forged_kernels, forged_c)]
FORGERIES = [name for table in TABLES for name in table.forgeries]


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    jobs = [job for table in TABLES for job in table.jobs(folder)]
    jobs.append(forged_memory.WEIGHTLESS.job(folder, "forger", "triton"))
    program, home = worker_run.make_home(folder)
    return worker_run.run(program, home, folder, jobs, children=2, packs=PACKS)


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_trace_is_the_candidates_fault(outcome: Outcome, name: str) -> None:
    """And it is not correct."""
    assert name not in outcome.infra, outcome.infra[name]
    answer = outcome.answers[name]
    assert answer["verdict"] not in ("correct", "infra"), described(name, answer)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_honest_traces_between_them_are_correct(outcome: Outcome, table: object) -> None:
    good = {n: a for n, a in outcome.answers.items() if n.startswith("good-") and n.endswith(table.name)}
    assert good
    for name, answer in good.items():
        assert (answer["verdict"], answer["evidence"]) == ("correct", "E3"), described(name, answer)


def test_no_judge_and_no_zygote_ended(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.log
    assert "ended; the end of its log" not in outcome.log, outcome.log
    assert "Traceback" not in outcome.log, outcome.log


def test_weights_of_its_own_end_at_e2(outcome: Outcome) -> None:
    answer = outcome.answers["weightless"]
    assert answer["evidence"] != "E3", described("weightless", answer)


def test_what_is_told_beside_the_data_is_no_feedback(outcome: Outcome) -> None:
    """Inputs may be asked again."""
    tellers = [name for name in forged_c.forgery.forgeries if name.startswith("c.inputs_")]
    assert tellers
    for name in tellers:
        answer = json.dumps(outcome.answers[name])
        assert forged_c.LEAK not in answer, described(name, outcome.answers[name])
