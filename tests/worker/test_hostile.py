"""Every candidate in the tables of tests/verify/hostile gets the verdict that they give it.
Good candidates between them stay correct, among them the bases that the others are patches of and
those whose tricks have no effect (`harmless`: each says why), and nothing of them is left when the
worker ends.

`make test` runs the first of each kind (kept()), HOSTILE=all runs all of them."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import (
    ENTRIES,
    HOSTILE,
    ROOT,
    VERIFY,
    Job,
    Outcome,
    as_expected,
    described,
    hostile_job,
    processes_of,
)

SECRET = "sk-what-no-candidate-may-see"
GOOD_EVERY = 4  # hostile candidates between two good ones
HARMLESS = [name for name, entry in ENTRIES.items() if entry.harmless]
# What others are patches of is right itself, but for bases that are hostile. They come first.
BASES = {e.base: Job("", e.pack, e.task, e.base) for e in reversed(ENTRIES.values()) if e.hunks}
GOOD = {f: Job("", "triton", VERIFY / "tasks" / f.name, f) for f in (VERIFY / "good").glob("*.py")}
HONEST = [job for file, job in sorted((GOOD | BASES).items(), reverse=True) if file.stem not in HOSTILE]
THIN = tuple("180 182 184 188 190 192 193 195 196 198 236 246 247".split())
# Those of these numbers go for the box, the processes or the protocol: all are kept.
AT_THE_WORKER = range(180, 248)
CATALOGUE = (ROOT / "docs" / "VERIFIER-catalogue.md").read_text()
ROWS = [line.split("|")[-2] for line in CATALOGUE.splitlines() if re.match(r"\| \d+ \|", line)]
NAMED = re.compile(r"\b(\d{3})(?:–(\d{3}))?\b")  # in a row


def kept() -> list[str]:
    """Of those that get the same verdict for the same reason in the same pack, the first; of
    each row of the catalogue, the first; and all that attack the worker."""
    if os.environ.get("HOSTILE") == "all":
        return list(HOSTILE)
    kinds = {(entry.pack, *entry.verdicts, *entry.rules): name
             for name, entry in sorted(HOSTILE.items(), reverse=True)}  # fmt: skip
    first = {named[1] for row in ROWS if (named := NAMED.search(row))}
    return [name for name in HOSTILE
            if name in kinds.values() or name[:3] in first
            or int(name[:3]) in AT_THE_WORKER]  # fmt: skip


KEPT = kept()


def hostile_jobs() -> list[Job]:
    """Those that are timed come last: they want the machine for themselves."""
    names = sorted(KEPT, key=lambda name: (HOSTILE[name].options.get("timing", False), name))
    return list(map(hostile_job, names))


def good_job(number: int) -> Job:
    """The harmless ones first, then the honest ones, which take turns."""
    if number < len(HARMLESS):
        return hostile_job(HARMLESS[number], id=f"good-{number}-{HARMLESS[number]}")
    job = HONEST[(number - len(HARMLESS)) % len(HONEST)]
    return dataclasses.replace(job, id=f"good-{number}-{job.candidate.stem}")


def all_jobs() -> list[Job]:
    jobs: list[Job] = []
    for index, job in enumerate(hostile_jobs()):
        if index % GOOD_EVERY == 0:
            jobs.append(good_job(index // GOOD_EVERY))
        jobs.append(job)
    return jobs


@pytest.fixture(scope="module", autouse=True)
def neighbour() -> Iterator[None]:
    """A process of the host that has a key where every user of it can read one."""
    line = ["sh", "-c", "read wait", "neighbour", f"--token=TOKEN-{SECRET}"]
    other = subprocess.Popen(line, stdin=subprocess.PIPE)
    yield
    other.stdin.close()
    other.wait()


def run_in(folder: Path, jobs: list[Job], box: str) -> Outcome:
    program, home = worker_run.make_home(folder)
    work = folder / box
    (work / "scratch").mkdir(parents=True)
    return worker_run.run(
        program, home, work, jobs, scratch=work / "scratch", box=box,
        environment={"MONKEYS_API_KEY": SECRET},
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return run_in(folder, all_jobs(), "auto")


@pytest.fixture(scope="module")
def thin_outcome(folder: Path) -> Outcome:
    """Without namespaces: those that go for the box itself."""
    jobs = [job for job in hostile_jobs() if job.id.startswith(THIN)]
    good = [good_job(len(HARMLESS) + i) for i in range(3)]
    return run_in(folder, [*jobs, *good], "thin")


@pytest.mark.parametrize("name", KEPT)
def test_the_verdict_is_the_right_one(outcome: Outcome, name: str) -> None:
    assert name not in outcome.infra, outcome.infra[name]
    assert as_expected(outcome.answers[name], name), described(name, outcome.answers[name])


def test_good_candidates_between_them_are_correct(outcome: Outcome) -> None:
    good = {n: a for n, a in outcome.answers.items() if n.startswith("good-")}
    assert len(good) == len(all_jobs()) - len(KEPT)
    wrong = [described(n, a) for n, a in good.items() if a["verdict"] != "correct"]
    assert not wrong
    assert {a["evidence"] for a in good.values()} == {"E3"}


def test_no_judge_and_no_zygote_ended(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.log
    assert "ended; the end of its log" not in outcome.log, outcome.log
    assert "Traceback" not in outcome.log, outcome.log


def test_a_thin_box_holds_too(thin_outcome: Outcome) -> None:
    for name, answer in thin_outcome.answers.items():
        assert as_expected(answer, name), described(name, answer)
    assert not thin_outcome.infra and thin_outcome.status == 0, thin_outcome.log


def test_nothing_is_left(outcome: Outcome, thin_outcome: Outcome, folder: Path) -> None:
    assert list(folder.glob("*/scratch/*")) == []
    assert outcome.groups_left | thin_outcome.groups_left == set()
    until = time.monotonic() + 120  # servers were killed, not waited for
    while processes_of(str(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of(str(folder)) == []


def test_no_key_of_the_user_is_in_any_answer(outcome: Outcome) -> None:
    assert SECRET not in json.dumps(outcome.answers) + outcome.log


def test_answers_are_what_every_reader_takes(outcome: Outcome) -> None:
    """No NaN, no NUL, no lone surrogate, no control character, and short."""
    for name, answer in outcome.answers.items():
        text = json.dumps(answer, allow_nan=False, ensure_ascii=False)
        text.encode()
        assert "\\u0000" not in text and "\x1b" not in answer["feedback"], name
        assert len(answer["feedback"]) <= 4000, name


def test_all_harmless_ones_were_among_the_good(outcome: Outcome) -> None:
    assert len([name for name in outcome.answers if "harmless" in name]) == len(HARMLESS)


def test_the_catalogue_names_entries_that_are_there() -> None:
    assert len(ROWS) == 81
    numbers = {name[:3] for name in HOSTILE}
    harmless = {*HARMLESS, *(path.stem for path in (VERIFY / "honest").glob("c_harmless_*.py"))}
    for row in ROWS:
        for first, last in NAMED.findall(row):
            assert {first, last or first} <= numbers, row
        for named in re.findall(r"harmless: ([^;]*)", row):
            names = {f"harmless_{n}".replace("harmless_c_", "c_harmless_") for n in named.strip().split(", ")}
            assert names <= harmless, row
