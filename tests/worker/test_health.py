"""A judge or zygote that is sick is found, replaced, and its candidates are judged by
the new one; a candidate is never blamed for it. They are made sick for real."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import worker_run
from worker_run import ROOT, VERIFY, Job, hostile_job
from worker_session import Session

PATIENCE = ("--patience", "2")
# For a frame to come. A candidate that hangs ends by its own processor time, and a machine with
# eight other tests on it may need ten times as long.
PATIENT_S = 300
# Makes recorders and compilers, and what executes.
ZYGOTES = RECORDS, EXECUTES = ("c-cpu", "c-cpu+runner")
# Computes, says what its harness never says, and ends.
LAST_WORDS = """
import os
import stat
import time

until = time.process_time() + 0.8
while time.process_time() < until:
    pass
sockets = (fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}"))
peer = next(fd for fd in sockets if stat.S_ISSOCK(os.fstat(fd).st_mode))
text = b'{"error": {"stage": []}}'
os.write(peer, len(text).to_bytes(4, "little") + text)
os._exit(0)
"""
BUSY = """
import time

until = time.process_time() + 1
while time.process_time() < until:
    pass
"""


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Session]:
    program, home = worker_run.make_home(folder)
    with Session(program, home, folder, 2, PATIENCE) as worker:
        yield worker


@pytest.fixture
def worker(session: Session, request: pytest.FixtureRequest) -> Session:
    """In order: its judge and the zygotes of c-cpu run, and nothing else does."""
    if {p.name for p in session.quiet()} != {"worker", "judge", *ZYGOTES}:
        session.run([good(f"{request.function.__name__}/before")], 1)
        session.quiet()
    while session.take(0):  # what was said before
        pass
    session.answers, session.infra, session.notes = {}, {}, []
    session.logged = len(session.log.read_text())
    return session


def good(name: str) -> Job:
    stem = "01_swish"
    task = ROOT / "tasks" / "starter" / f"{stem}.py"
    return Job(name, "c-cpu", task, VERIFY / "c-cpu" / f"{stem}.py")


def hanging(name: str) -> Job:
    """It computes until its deadline, which counts its own processor time: long enough to be
    seen at work."""
    return hostile_job("155_c_endless", id=name, call_ms=1000)


def crashing(name: str) -> Job:
    return hostile_job("154_c_null", id=name)


def wait_for_work(worker: Session, program: str = "monkeys-runner") -> None:
    """Until a candidate that never ends computes there. Others may still be on their way out."""
    wait_until(lambda: at_work(worker, program))


def wait_until(happened: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENT_S
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


def at_work(worker: Session, program: str = "monkeys-runner") -> list[int]:
    """No other child of this program uses so much time."""
    return [p.pid for p in worker.processes()
            if p.name == "child" and p.used_s > 0.4 and runs(p.pid, program)]  # fmt: skip


def runs(pid: int, program: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().startswith(program)
    return False


def impatient(worker: Session, with_whom: str = "") -> bool:
    """The worker has given up a server that did nothing for two seconds. On a busy machine that may
    happen to any, stopped or not: no test may count how often one is started."""
    lines = worker.log.read_text()[worker.logged :].splitlines()
    return any(with_whom in line and "it does not answer" in line for line in lines)


def verdicts(worker: Session) -> dict[str, str]:
    assert worker.infra == {}
    return {name: answer["verdict"] for name, answer in worker.answers.items()}


def box_root(worker: Session, zygote: str) -> Path:
    """What each child of the zygote builds its private root on."""
    return next(worker.scratch.glob(f"*/{zygote}/root"))


@pytest.mark.parametrize("zygote", ZYGOTES)
def test_a_stopped_zygote_is_replaced_and_its_candidate_judged(
    worker: Session, zygote: str
) -> None:
    old, judge = worker.named(zygote).pid, worker.named("judge").pid
    os.kill(old, signal.SIGSTOP)
    worker.run([good("second")], 1)
    assert verdicts(worker) == {"second": "correct"}
    assert worker.named(zygote).pid != old
    assert worker.named("judge").pid == judge or impatient(worker, "/judge.log")


def test_a_zygote_that_stops_below_a_candidate_is_replaced(worker: Session) -> None:
    """The candidate is killed at its deadline, but nobody reaps it."""
    worker.give([hanging("hangs")])
    wait_for_work(worker)
    os.kill(worker.named(EXECUTES).pid, signal.SIGSTOP)
    worker.run([good("second")], 1)
    while "hangs" not in worker.answers:
        assert worker.take(PATIENT_S)
    assert verdicts(worker) == {"second": "correct", "hangs": "timeout"}


def test_a_candidate_whose_zygote_ends_is_judged_by_the_next(worker: Session) -> None:
    worker.give([hanging("hangs")])
    wait_for_work(worker)
    os.kill(worker.named(EXECUTES).pid, signal.SIGKILL)
    while "hangs" not in worker.answers:
        assert worker.take(PATIENT_S)
    assert verdicts(worker) == {"hangs": "timeout"}


def test_a_candidate_that_somebody_kills_is_judged_again(worker: Session) -> None:
    """One that kills itself does so again: hostile/176."""
    worker.give([hanging("hangs")])
    wait_for_work(worker)
    os.kill(at_work(worker)[0], signal.SIGKILL)
    while "hangs" not in worker.answers:
        assert worker.take(PATIENT_S)
    assert verdicts(worker) == {"hangs": "timeout"}


def test_what_a_candidate_said_is_heard_after_the_news_of_its_end(
    worker: Session, folder: Path
) -> None:
    """It speaks and ends while the judge computes for another job."""
    task = ROOT / "tasks" / "starter" / "01_swish.py"
    slow = folder / "slow.py"
    slow.write_text(task.read_text() + BUSY)
    speaks = folder / "speaks.py"
    speaks.write_text(LAST_WORDS)
    worker.give([Job(**vars(good("speaks")) | {"candidate": speaks})])
    wait_for_work(worker, "python")
    worker.give([Job(**vars(good("slow")) | {"task": slow})])
    while len(worker.answers) < 2:
        assert worker.take(PATIENT_S)
    assert verdicts(worker) == {"speaks": "hack", "slow": "correct"}
    assert worker.answers["speaks"]["rule"] == "forged-answer"


def test_a_job_that_has_had_its_time_ends(worker: Session) -> None:
    """A child that it gets later, too: this one's time is over when the zygote answers."""
    slow = Job(**vars(hanging("slow")) | {"call_ms": 60000, "deadline_ms": 3000})
    worker.run([slow, Job(**vars(good("at-once")) | {"deadline_ms": 1})], 1)
    assert verdicts(worker) == {"slow": "timeout", "at-once": "timeout"}


def test_a_stopped_judge_is_replaced_and_its_candidates_judged(worker: Session) -> None:
    """Once: where the next one stops below the same candidate, that is no fault of either. How
    often a judge was started does not count: one that waits long enough for a processor or a disk
    may be replaced, too."""
    worker.give([Job(**vars(hanging("hangs")) | {"call_ms": 60000})])
    wait_for_work(worker)
    first = stop_judge(worker)
    worker.give([good("second")])
    while "second" not in worker.answers:
        assert worker.take(PATIENT_S)
    wait_for_work(worker)
    second = stop_judge(worker)
    while worker.infra == {}:
        assert worker.take(PATIENT_S)
    assert set(worker.infra) == {"hangs"}
    worker.run([good("third")], 1)
    answers = {name: answer["verdict"] for name, answer in worker.answers.items()}
    assert answers == {"second": "correct", "third": "correct"}
    assert len({first, second, worker.named("judge").pid}) == 3


def stop_judge(worker: Session) -> int:
    pid = worker.named("judge").pid
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_the_probe_after_a_fault_finds_that_no_box_can_be_made(worker: Session) -> None:
    """The zygote is replaced before the next candidate meets it."""
    worker.give([hanging("hangs")])
    wait_for_work(worker)
    box_root(worker, EXECUTES).rename(box_root(worker, EXECUTES).with_name("gone-below"))
    while "hangs" not in worker.answers:
        assert worker.take(PATIENT_S)
    while not any(note.startswith(f"{EXECUTES} ended") for note in worker.notes):
        assert worker.take(PATIENT_S)
    worker.run([good("next")], 1)
    assert verdicts(worker) == {"hangs": "timeout", "next": "correct"}


@pytest.mark.parametrize("zygote", ZYGOTES)
def test_a_candidate_that_meets_a_sick_zygote_is_judged_by_the_next(
    worker: Session, zygote: str
) -> None:
    box_root(worker, zygote).rename(box_root(worker, zygote).with_name("gone"))
    worker.run([good("second")], 1)
    assert verdicts(worker) == {"second": "correct"}


def test_without_a_judge_every_job_is_answered(folder: Path) -> None:
    """Also those that come when the last try to start one has failed."""
    program, home = worker_run.make_home(folder)
    work = folder / "no-judge"
    work.mkdir()
    with Session(program, home, work, 1, ("--python", "/bin/false")) as worker:
        worker.run([good("early")], 1)
        worker.run([good("late"), good("later")], 1)
        assert set(worker.infra) == {"early", "late", "later"} and worker.answers == {}
        assert worker.leave() == 0


def test_a_fault_of_a_candidate_ends_no_server(worker: Session) -> None:
    before = {p.name: p.pid for p in worker.quiet()}
    worker.run([crashing("a"), hanging("b"), crashing("c"), good("d")], 2)
    wanted = {"a": "crash", "b": "timeout", "c": "crash", "d": "correct"}
    assert verdicts(worker) == wanted
    assert impatient(worker) or {p.name: p.pid for p in worker.quiet()} == before
    assert impatient(worker) or worker.notes == []


def starting(worker: Session, name: str) -> None:
    """A job for whose child a zygote is asked that still imports torch."""
    old = worker.named(RECORDS).pid
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{old}"))  # the worker knows
    worker.give([good(name)])
    wait_until(lambda: any(p.name == RECORDS for p in worker.processes()))


def test_a_child_that_its_judge_did_not_live_to_see_is_not_kept(worker: Session) -> None:
    """Asked for while the zygote still imports torch, by a judge that ends meanwhile."""
    starting(worker, "first")
    os.kill(worker.named("judge").pid, signal.SIGKILL)
    worker.run([crashing("second")], 1)
    while not {"first"} & (worker.answers.keys() | worker.infra.keys()):
        assert worker.take(PATIENT_S)
    assert verdicts(worker) == {"first": "correct", "second": "crash"}
    worker.quiet()


# ---- a busy machine --------------------------------------------------------------------

BURNS = r"""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r'''
#include <stdint.h>
void relu_kernel(const float *x, float *y, int64_t n)
{
    for (volatile long i = 0; i < STEPS; i++)
        ;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
'''
lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
"""


def steps_of(folder: Path, seconds: float) -> int:
    """How many of the loop's steps take so much of a processor's time on this machine."""
    source = folder / "steps.c"
    source.write_text("void steps(long n) { for (volatile long i = 0; i < n; i++); }")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", folder / "steps.so", source], check=True)
    run = ctypes.CDLL(str(folder / "steps.so")).steps
    run.argtypes = [ctypes.c_long]
    some = 20_000_000
    began = time.process_time()
    run(some)
    return int(some * seconds / (time.process_time() - began))


@contextlib.contextmanager
def busy(processor: int, programs: int) -> Iterator[None]:
    """So many other programs want that processor, each in a session of its own: Linux may share a
    processor out among sessions."""
    code = f"import os\nos.sched_setaffinity(0, [{processor}])\nprint(flush=True)\nwhile True: pass"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                start_new_session=True) for _ in range(programs)]  # fmt: skip
    try:
        for process in started:
            process.stdout.readline()
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextlib.contextmanager
def pinned(worker: Session, processor: int) -> Iterator[None]:
    """The worker's processes, and those that they start, have that processor alone."""
    everywhere, processes = os.sched_getaffinity(0), worker.processes()
    for process in processes:
        os.sched_setaffinity(process.pid, [processor])
    try:
        yield
    finally:
        for process in processes:
            os.sched_setaffinity(process.pid, everywhere)


def test_a_kernel_that_has_to_wait_for_a_processor_is_not_late(
    worker: Session, folder: Path
) -> None:
    """It takes 0.2 of the half second that it may take; there is a third of a processor for it."""
    candidate = folder / "burns.py"
    candidate.write_text(BURNS.replace("STEPS", str(steps_of(folder, 0.2))))
    job = Job("burns", "c-cpu", VERIFY / "tasks" / "relu.py", candidate, call_ms=500)
    one = min(os.sched_getaffinity(0))
    with pinned(worker, one), busy(one, 2):
        worker.run([job], 1)
    answer = worker.answers["burns"]
    assert answer["verdict"] == "correct", answer["feedback"]
    assert answer["times_ms"]["trials"] > 500  # by the clock on the wall


# ---- the end ---------------------------------------------------------------------------


def test_a_worker_that_nobody_listens_to_leaves_at_once(worker: Session) -> None:
    """Also when it has asked a zygote for a child that still imports torch. Nothing runs in the
    worker of these tests after this one."""
    starting(worker, "never")
    worker.socket.close()
    began = time.monotonic()
    status = os.waitpid(worker.pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0
    assert time.monotonic() - began < 20  # what children that do not end have
