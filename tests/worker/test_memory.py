"""Memory: what a candidate took is measured and told, learnt for its task, and decides
how many run at once."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job
from worker_session import Frame, Session, send_frame

sys.path[:0] = [str(ROOT / "worker")]

from judge.room import Room  # noqa: E402

MIB = 1 << 20
TASK = ROOT / "tasks" / "starter" / "01_swish.py"
GOOD = (VERIFY / "c-cpu" / "01_swish.py").read_text()
HANGS = GOOD + "\nimport time\nwhile True:\n    time.sleep(60)\n"
# Says from when to when it was there, while it held its memory.
SPEAKS = """
import time
import torch.nn as nn
began = time.monotonic_ns()
ballast = b"x" * ({mib} << 20)
class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError(f"from {{began}} to {{time.monotonic_ns()}}, {{len(ballast)}}")
"""


# ---- who is let in -----------------------------------------------------------------


def job(task: str = "t", limit: int = 0) -> dict:
    return {"kind": "verify", "pack": "p", "precision": "fp32", "task": {"source": task},
            "limits": {"memory_bytes": limit}}  # fmt: skip


def test_a_task_nobody_has_seen_counts_its_limit_or_a_share() -> None:
    assert Room(1000, 300, 4).need(job(limit=700)) == 700
    assert Room(1000, 300, 4).need(job()) == 250


def test_new_tasks_without_a_limit_fill_all_places() -> None:
    room = Room(1003, 800, 4)
    assert all(room.enter(str(i), job(str(i))) for i in range(4))


def test_a_task_that_was_seen_counts_what_it_took_and_a_quarter() -> None:
    room = Room(1000, 300, 4)
    room.learn(job(), 100, called=True)
    assert room.need(job()) == 125
    assert room.need(job(limit=110)) == 110
    assert room.need(job("another")) == 250
    room.learn(job(), 290, called=True)
    assert room.need(job()) == 300


def test_one_that_was_never_called_shows_only_that_it_may_be_more() -> None:
    room = Room(1000, 300, 4)
    room.learn(job(), 10, called=False)
    assert room.need(job()) == 250
    room.learn(job(), 100, called=True)
    room.learn(job(), 10, called=False)
    assert room.learnt.popitem()[1] == 100


def test_one_that_took_too_much_is_forgotten_by_and_by() -> None:
    room = Room(1000, 0, 4)
    room.learn(job(), 800, called=True)
    for _ in range(30):
        room.learn(job(), 100, called=True)
    assert room.need(job()) == 125


def test_who_does_not_fit_waits_until_somebody_leaves() -> None:
    room = Room(1000, 0, 4)
    assert room.enter("a", job(limit=600)) and not room.enter("b", job(limit=500))
    assert room.enter("c", job(limit=400)) and not room.enter("b", job(limit=500))
    room.leave("a")
    assert room.enter("b", job(limit=500))


def test_one_always_runs_whatever_it_takes() -> None:
    assert Room(1000, 0, 4).enter("a", job(limit=5000))


def test_where_nobody_knows_the_memory_the_number_decides() -> None:
    room = Room(0, 0, 4)
    assert all(room.enter(str(i), job(limit=5000)) for i in range(4))


# ---- a worker ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Session]:
    program, home = worker_run.make_home(folder)
    with Session(program, home, folder, 2, ("--total-memory", str(1000 * MIB))) as session:
        yield session
        assert session.leave() == 0


def candidate(folder: Path, name: str, text: str, limit: int, task: str) -> Job:
    """Tasks of different names are the same but for a line."""
    (folder / f"{name}.py").write_text(text)
    place = folder / f"task-{task}.py"
    place.write_text(TASK.read_text() + f"\n# {task}\n")
    return Job(name, "c-cpu", place, folder / f"{name}.py", memory=limit * MIB)


def overtakes(worker: Session, hangs: Job, good: Job) -> bool:
    """Whether the second is judged while the first holds its memory."""
    worker.give([hangs, good])
    while good.id not in worker.answers:
        assert worker.take(300) is not None
    assert worker.infra == {} and worker.answers[good.id]["verdict"] == "correct"
    ended = hangs.id in worker.answers
    send_frame(worker.socket, Frame("cancel", hangs.id))
    return not ended


def test_small_ones_run_beside_each_other(worker: Session, folder: Path) -> None:
    hangs = candidate(folder, "small-hangs", HANGS, 400, "small-a")
    assert overtakes(worker, hangs, candidate(folder, "small", GOOD, 400, "small-b"))


def test_big_ones_never_do(worker: Session, folder: Path) -> None:
    big = [candidate(folder, f"big-{i}", SPEAKS.format(mib=400), 600, "big") for i in range(3)]
    worker.run(big, 3)
    records = [worker.answers[job.id] for job in big]
    assert [record["verdict"] for record in records] == ["launch_error"] * 3
    spans = [tuple(map(int, re.findall(r"from (\d+) to (\d+)", r["feedback"])[-1])) for r in records]
    spans.sort()
    assert all(ended < began for (_, ended), (began, _) in zip(spans, spans[1:])), spans
    assert all(400 * MIB < record["peak_bytes"] < 600 * MIB for record in records)


def test_what_a_task_takes_is_learnt(worker: Session, folder: Path) -> None:
    """Limits of 600 MiB do not fit beside each other, what they take does."""
    worker.run([candidate(folder, "learnt", GOOD, 600, "learnt")], 1)
    assert 0 < worker.answers["learnt"]["peak_bytes"] < 200 * MIB
    hangs = candidate(folder, "learnt-hangs", HANGS, 600, "learnt")
    assert overtakes(worker, hangs, candidate(folder, "learnt-too", GOOD, 600, "learnt"))


def test_one_that_takes_more_than_there_is_for_all_runs_alone(
    worker: Session, folder: Path
) -> None:
    alone = [candidate(folder, f"alone-{i}", GOOD, 4000, "alone") for i in range(2)]
    worker.run(alone, 2)
    assert [worker.answers[job.id]["verdict"] for job in alone] == ["correct"] * 2


def test_one_that_ran_out_had_all_it_may(
    worker: Session, folder: Path, group: Path
) -> None:
    worker.run([candidate(folder, "eats", SPEAKS.format(mib=900), 500, "eats")], 1)
    record = worker.answers["eats"]
    assert record["verdict"] == "out_of_memory"
    assert 450 * MIB < record["peak_bytes"] <= 500 * MIB


def test_without_a_memory_group_its_largest_process_counts(folder: Path) -> None:
    """Pages that it shares with its zygote are in both figures."""
    program, home = worker_run.make_home(folder)
    own = folder / "without"
    own.mkdir()
    with Session(program, home, own, 1, ("--memory", "0")) as session:
        jobs = [candidate(folder, f"holds-{n}", SPEAKS.format(mib=n), 0, "t") for n in (50, 350)]
        session.run(jobs, 1)
        small, large = (session.answers[job.id]["peak_bytes"] for job in jobs)
        assert 280 * MIB < large - small < 320 * MIB
        assert session.leave() == 0


# ---- what there is -----------------------------------------------------------------


@pytest.fixture
def group() -> Iterator[Path]:
    """A memory group of 1 GiB below our own, where that is allowed."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kind, place = line.split(":", 2)
        limit = {"": "memory.max", "memory": "memory.limit_in_bytes"}.get(kind)
        made = Path("/sys/fs/cgroup", kind, place.strip("/"), f"monkeys-test-{os.getpid()}")
        if limit is None:
            continue
        try:
            made.mkdir()
        except OSError:
            continue
        try:
            (made / limit).write_text(str(1 << 30))
        except OSError:
            made.rmdir()
            continue
        yield made
        made.rmdir()
        return
    pytest.skip("no memory groups here")


def test_a_group_with_a_limit_is_all_there_is(group: Path, tmp_path: Path) -> None:
    program, _ = worker_run.make_home(tmp_path)
    script = 'echo $$ > "$1/cgroup.procs" && exec "$2" --probe'
    done = subprocess.run(["sh", "-c", script, "sh", group, program], capture_output=True,
                          text=True, check=True)  # fmt: skip
    size, free = map(int, re.findall(r"memory yes (\d+) bytes, (\d+)", done.stdout)[0])
    assert size == 1 << 30 and 700 * MIB < free <= 768 * MIB
