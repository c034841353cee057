"""A service, the child of a judge that belongs to no job (the executor of a GPU): what the
worker does with it, and which time counts for a job. The judge is a stand-in
(tests/servers/service_judge.py) that says what these tests want; the service is a real runner in a
real box."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, framed, own_groups, processes_of
from worker_session import Session

RUNNER = "c-cpu+runner"
LIMIT = 1 << 30
UNTIL_S = 120
_numbers = itertools.count()


@dataclass
class Steps:
    """What the judge is to do, as a job."""

    id: str
    steps: list[list]
    deadline_ms: int = 0  # of the whole job

    def frame(self) -> bytes:
        return framed(self.id, self.deadline_ms, {"steps": self.steps})


def home_with(judge: Path, folder: Path) -> Path:
    """The tree's own home, but for the judge."""
    home = folder / "home"
    shutil.copytree(ROOT / "worker", home / "worker")
    shutil.copy(judge, home / "worker" / "judge" / "judge.py")
    for name in ("packs", "libmonkeys-box.so", "monkeys-runner"):
        (home / name).symlink_to((ROOT / name).resolve())
    return home


@pytest.fixture(scope="module")
def home(folder: Path) -> Path:
    worker_run.make_home(folder)
    return home_with(ROOT / "tests" / "servers" / "service_judge.py", folder)


@pytest.fixture
def worker(folder: Path, home: Path) -> Iterator[Session]:
    work = folder / f"work-{next(_numbers)}"
    work.mkdir()
    with Session(ROOT / "monkeys-worker", home, work, 1) as session:
        yield session


def do(worker: Session, *steps: list) -> list:
    name = f"job-{next(_numbers)}"
    worker.run([Steps(name, [*steps])], 1)
    assert worker.infra == {}
    return worker.answers[name]["answers"]


def start(name: str, memory: int = LIMIT, deadline: int = 60000) -> tuple[list, list]:
    return ["say", "fork", name, deadline, f"{RUNNER} {memory}"], ["hear", "child", name]


def dies(worker: Session, *steps: list) -> None:
    """The judge does these and ends; there is another one afterwards."""
    mark = str(worker.scratch.parent / "died")
    while not worker.ready:
        assert worker.take(UNTIL_S)
    before = worker.named("judge").pid
    worker.run([Steps("dies", [*steps, ["die", mark]])], 1)
    assert worker.infra == {} and os.path.exists(mark)
    assert worker.named("judge").pid != before


def running(worker: Session) -> list[int]:
    return [p.pid for p in worker.processes() if p.name == "child"]


def wait_until_none_is_left(worker: Session) -> None:
    until = time.monotonic() + UNTIL_S
    while running(worker) or own_groups(worker.pid):
        assert time.monotonic() < until, (worker.processes(), own_groups(worker.pid))
        time.sleep(0.01)


def test_a_service_is_forked_and_outlives_the_job_that_asked_for_it(worker: Session) -> None:
    assert do(worker, *start("service-1"), ["ask", "service-1"])[-1] is True
    before = running(worker)
    assert do(worker, ["ask", "service-1"], ["ask", "service-1"]) == [True, True]
    assert running(worker) == before != []


def test_a_service_past_its_deadline_is_gone(worker: Session) -> None:
    heard = do(worker, *start("service-1"), ["say", "stage", "service-1", 50, ""],
              ["hear", "gone", "service-1"])  # fmt: skip
    why, peak, _ = heard[-1].split("\n", 2)
    assert why == "timeout" and int(peak) > 0
    wait_until_none_is_left(worker)


def test_a_service_is_forked_with_a_deadline_for_its_first_words(worker: Session) -> None:
    """Counted from when there is a zygote to make it."""
    do(worker, *start("service-1"))
    heard = do(worker, *start("service-2", deadline=300), ["hear", "gone", "service-2"])
    assert heard[-1].startswith("timeout\n")


def test_a_stage_of_0_takes_the_deadline_away(worker: Session) -> None:
    """The second one's deadline, set after the first's was taken away, passes first."""
    heard = do(
        worker, *start("service-1"), *start("service-2"),
        ["say", "stage", "service-1", 2000, ""], ["say", "stage", "service-1", 0, ""],
        ["say", "stage", "service-2", 4000, ""], ["hear", "gone", "service-2"], ["ask", "service-1"],
    )  # fmt: skip
    assert heard[-2].startswith("timeout\n") and heard[-1] is True


def test_a_job_whose_child_is_asked_nothing_spends_no_time(worker: Session) -> None:
    """A service's deadline shows that more than the job's time has passed."""
    steps = [*start("waits"), ["say", "stage", "waits", 0, ""], *start("service-1"),
             ["say", "stage", "service-1", 6000, ""], ["hear", "gone", "service-1"],
             ["say", "stage", "waits", 60000, ""], ["ask", "waits"]]  # fmt: skip
    worker.run([Steps("waits", steps, deadline_ms=5000)], 1)
    assert worker.answers["waits"]["answers"][-1] is True


def test_a_job_has_no_more_than_its_time(worker: Session) -> None:
    steps = [*start("sleeps"), ["hear", "gone", "sleeps"]]
    worker.run([Steps("sleeps", steps, deadline_ms=500)], 1)
    assert worker.answers["sleeps"]["answers"][-1].startswith("late\n")


def test_the_stages_of_a_job_share_its_time(worker: Session) -> None:
    """The first ends long before its own deadline, when that of a service has passed."""
    wait = [*start("service-1"), ["say", "stage", "service-1", 1500, ""], ["hear", "gone", "service-1"]]
    steps = [*start("sleeps"), ["say", "stage", "sleeps", 60000, ""], *wait,
             ["say", "stage", "sleeps", 60000, ""], ["hear", "gone", "sleeps"]]  # fmt: skip
    worker.run([Steps("sleeps", steps, deadline_ms=4000)], 1)
    assert worker.answers["sleeps"]["answers"][-1].startswith("late\n")  # and not "timeout"


def test_a_service_that_ends_by_itself_is_told_with_its_status(worker: Session) -> None:
    heard = do(worker, *start("service-1"), ["close", "service-1"], ["hear", "gone", "service-1"])
    assert heard[-1].startswith("exit 0\n")
    wait_until_none_is_left(worker)


def test_a_service_that_is_killed_is_told_and_another_can_be_had(worker: Session) -> None:
    do(worker, *start("service-1"), ["ask", "service-1"])  # the runner is there
    names = {Path(f"/proc/{pid}/comm").read_text().strip(): pid for pid in running(worker)}
    # The first process of its namespace: no other signal from outside ends it.
    os.kill(names["monkeys-runner"], signal.SIGKILL)
    heard = do(worker, ["hear", "gone", "service-1"], *start("service-2"), ["ask", "service-2"])
    assert heard[0].startswith("signal 9\n") and heard[-1] is True


def test_of_a_service_that_the_judge_ends_nothing_is_left(worker: Session) -> None:
    do(worker, *start("service-1"))
    assert running(worker)
    do(worker, ["say", "end", "service-1", 0, ""])
    wait_until_none_is_left(worker)
    assert do(worker, *start("service-2"), ["ask", "service-2"])[-1] is True


def test_a_service_has_a_memory_group_of_its_own(worker: Session) -> None:
    if "cgroup yes" not in os.popen(f"{ROOT}/monkeys-worker --probe").read():
        pytest.skip("no memory groups here")
    do(worker, *start("service-1"), *start("service-2"))
    assert len(own_groups(worker.pid)) == 2


def test_for_a_pack_that_is_not_there_no_service_is_made(worker: Session) -> None:
    heard = do(worker, ["say", "fork", "service-1", 1000, "nowhere+runner 0"],
              ["hear", "nochild", "service-1"])  # fmt: skip
    assert "this host has no pack 'nowhere+runner'" in heard[-1]


def test_a_service_ends_with_its_judge(worker: Session) -> None:
    do(worker, *start("service-1"), *start("service-2"))
    before = running(worker)
    dies(worker)
    wait_until_none_is_left(worker)
    assert before and not set(before) & set(running(worker))


def test_a_service_that_is_not_there_yet_ends_with_its_judge(worker: Session) -> None:
    """The judge dies while the zygote still makes it. The next one does the same and lives."""
    dies(worker, start("service-1")[0])
    assert do(worker, ["hear", "child", "service-1"], ["ask", "service-1"])[-1] is True
    do(worker, ["say", "end", "service-1", 0, ""])
    wait_until_none_is_left(worker)


def test_a_service_ends_with_the_worker(worker: Session) -> None:
    do(worker, *start("service-1"), *start("service-2"))
    assert worker.leave() == 0
    assert own_groups(worker.pid) == set()
    assert processes_of(str(worker.scratch)) == [] and list(worker.scratch.iterdir()) == []
