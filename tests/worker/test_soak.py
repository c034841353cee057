"""Candidates in a row, in a seeded random order: right, wrong, crashing, hanging, too
large, not compiling, over many tasks and two packs. Each gets its verdict, whatever
came before it and however many run at once, and the worker's processes hold at the
end what they held near the start.

MONKEYS_SOAK says how many (16; `make test-long`: 2000)."""

from __future__ import annotations

import ctypes
import json
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import worker_run
from worker_run import (
    HOSTILE,
    VERIFY,
    Job,
    as_expected,
    described,
    hostile_job,
    own_groups,
    processes_of,
)
from worker_session import Process, Session

SIZE = int(os.environ.get("MONKEYS_SOAK", "16"))
ALONE = 4 if SIZE > 500 else 10  # one in so many is also judged with nothing beside it
WIDE = 8  # children at once
PR_SET_CHILD_SUBREAPER = 36
# Which files stand for a kind, by their numbers, and how many in a hundred are of it.
KINDS = {
    "wrong": (20, "073 074 090 096 110 112 113 114 127 143 144 162"),
    "crash": (14, "027 142 153 154 156 158 170 172 176 235"),
    "raising": (8, "012 131 140 175 199 201"),
    "hang": (2, "136 155 188 198 223"),
    "compile": (12, "030 157 206 245"),
    "memory": (3, "160 184"),
}
# What a process may grow by from a fifth of the way to the end, in bytes. An allocator
# keeps what it once had, and which tasks meet at once is chance.
GROWTH = {"worker": 4 << 20, "judge": 96 << 20}
ZYGOTE_GROWTH = 8 << 20


def good() -> list[Job]:
    triton = [
        Job(f"triton-{file.stem}", "triton", VERIFY / "tasks" / file.name, file)
        for file in sorted((VERIFY / "good").glob("*.py"))
    ]
    lines = (VERIFY / "starter-c-cpu.list").read_text().split("\n")
    pairs = [line.split() for line in lines if line]
    return triton + [Job(f"c-{Path(c).stem}", "c-cpu", VERIFY / t, VERIFY / c) for t, c in pairs]


def hostile(numbers: str) -> list[Job]:
    names = [name for name in HOSTILE if name[:3] in numbers.split()]
    assert len(names) == len(numbers.split())
    return list(map(hostile_job, names))


def all_jobs() -> list[Job]:
    """SIZE jobs; each kind has its share, and its files take turns. The first are one
    of each zygote, so that all servers are there from then on."""
    kinds = {kind: (share, hostile(numbers)) for kind, (share, numbers) in KINDS.items()}
    kinds["good"] = (100 - sum(share for share, _ in kinds.values()), good())
    drawn = random.Random(20261115)
    chosen: list[Job] = []
    for share, files in kinds.values():
        order = drawn.sample(files, len(files))
        count = round(SIZE * share / 100)
        chosen += [order[i % len(order)] for i in range(count)]
    drawn.shuffle(chosen)
    for pack in ("triton", "c-cpu"):
        first = next(job for job in chosen if job.pack == pack and job.id not in HOSTILE)
        chosen.remove(first)
        chosen.insert(0, first)
    return [Job(**vars(job) | {"id": f"{i}:{job.id}"}) for i, job in enumerate(chosen)]


@dataclass
class Soak:
    jobs: list[Job]
    again: list[Job]  # those that are also judged with nothing beside them
    answers: dict[str, dict] = field(default_factory=dict)
    infra: dict[str, str] = field(default_factory=dict)
    status: int = -1
    notes: list[str] = field(default_factory=list)
    samples: dict[str, list[Process]] = field(default_factory=dict)
    files: dict[str, set[str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)  # whatever was there afterwards
    seconds: float = 0.0


def run(folder: Path, jobs: list[Job], again: list[Job]) -> Soak:
    """The jobs in their order; processes and files are looked at after a tenth and a
    fifth of them and at the end, when nothing runs. Then some again, one at a time."""
    program, home = worker_run.make_home(folder)
    work = folder / "soak"
    work.mkdir()
    soak, started = Soak(jobs, again), time.monotonic()
    adopt(True)
    before, maps = own_children(), set(perf_maps())
    with Session(program, home, work, WIDE) as worker:
        done = 0
        for share, label in ((0.1, "tenth"), (0.2, "fifth"), (1.0, "end")):
            count = max(2, round(len(jobs) * share))  # the first two start all servers
            worker.run(jobs[done:count], window=WIDE * 2)
            done = count
            soak.samples[label] = worker.quiet()
            soak.files[label] = {str(p) for p in worker.scratch.rglob("*")}
        worker.run(again, window=1)
        soak.samples["alone"] = worker.quiet()
        soak.status = worker.leave()
        soak.answers, soak.infra, soak.notes = worker.answers, worker.infra, worker.notes
    soak.seconds = time.monotonic() - started
    soak.left = [*map(str, worker.scratch.rglob("*")), *own_groups(worker.pid)]
    soak.left += processes_of(str(work))
    soak.left += [f"process {pid}" for pid in own_children() - before]
    pids = {p.pid for sample in soak.samples.values() for p in sample}
    soak.left += [str(p) for p in perf_maps() if p not in maps and int(p.stem[5:]) in pids]
    adopt(False)
    return soak


def adopt(orphans: bool) -> None:
    """Whether what a worker did not reap becomes a child of ours."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def perf_maps() -> list[Path]:
    """What libraries that compile write for perf, a file for each process."""
    return list(Path("/tmp").glob("perf-*.map"))


def own_children() -> set[int]:
    """Zombies among them."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for one in lists for pid in one.read_text().split()}


@pytest.fixture(scope="module")
def soak(folder: Path) -> Soak:
    jobs = all_jobs()
    again = [Job(**vars(job) | {"id": f"alone-{job.id}"}) for job in jobs[: SIZE // ALONE]]
    done = run(folder, jobs, again)
    tell(done)
    return done


def tell(soak: Soak) -> None:
    """Figures for whoever runs it with -s."""
    counts = f"{len(soak.jobs)} candidates, {WIDE} at once, and {len(soak.again)} alone"
    print(f"\n{counts}: {soak.seconds:.0f} s")
    print(dict(Counter(a["verdict"] for a in soak.answers.values())))
    for label, processes in soak.samples.items():
        held = {p.name: (p.descriptors, f"{p.resident / 2**20:.1f} MiB") for p in processes}
        print(f"  {label}: (descriptors, resident) {json.dumps(held)}")


def problems(soak: Soak) -> list[str]:
    found = [f"{name}: {why}" for name, why in soak.infra.items()]
    for name, answer in soak.answers.items():
        if not as_expected(answer, name.partition(":")[2]):
            found.append(described(name, answer))
    return found


def test_each_verdict_is_the_expected_one(soak: Soak) -> None:
    assert problems(soak) == []
    assert len(soak.answers) == len(soak.jobs) + len(soak.again)


def test_one_at_a_time_gives_the_same_verdicts(soak: Soak) -> None:
    assert soak.again
    for job in soak.again:
        alone, beside = soak.answers[job.id], soak.answers[job.id.removeprefix("alone-")]
        assert (alone["verdict"], alone["rule"]) == (beside["verdict"], beside["rule"]), job.id


def test_no_server_ended(soak: Soak) -> None:
    assert soak.status == 0 and soak.notes == []
    pids = [{p.name: p.pid for p in sample} for sample in soak.samples.values()]
    assert pids[0] == pids[-1]


def test_descriptors_are_closed(soak: Soak) -> None:
    before = {p.name: p.descriptors for p in soak.samples["tenth"]}
    for p in soak.samples["end"]:
        assert p.descriptors <= before[p.name], f"{p.name}: {before[p.name]} to {p.descriptors}"


def test_memory_is_given_back(soak: Soak) -> None:
    before = {p.name: p.resident for p in soak.samples["fifth"]}
    for p in soak.samples["end"]:
        bound = GROWTH.get(p.name, ZYGOTE_GROWTH)
        assert p.resident - before[p.name] <= bound, f"{p.name}: {before[p.name]} to {p.resident}"


def test_no_file_is_left_by_a_candidate(soak: Soak) -> None:
    assert soak.files["tenth"] == soak.files["end"]


def test_nothing_is_left_by_the_worker(soak: Soak) -> None:
    assert soak.left == []
