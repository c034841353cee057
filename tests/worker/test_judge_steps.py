"""What the judge's loop does with the steps that jobs ask for: children, the device and its
executor, baselines. The loop is the real one, on a socket; the test is its worker, and the
processes at the other ends of its sockets."""

from __future__ import annotations

import argparse
import json
import select
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from types import SimpleNamespace

import pytest
from small_loop import ROOT

sys.path[:0] = [str(ROOT / "worker")]

from judge import judge, runner, verdict  # noqa: E402
from judge.steps import Ask, Baseline, Device, End, Exclusive, Forged, Fork, Gone  # noqa: E402
from judge.steps import NoChild, Release  # noqa: E402
from shared.frames import Frame, recv_frame, recv_message, send_frame, send_message  # noqa: E402

WAIT_S = 300
PING = {"op": "ping"}


class Worker:
    """The judge's worker. Jobs are generators; `events` is what theirs write down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.socket, theirs = socket.socketpair()
        self.events: list = []
        self.jobs: dict[str, Callable[[], Generator]] = {}
        monkeypatch.setattr(judge, "CONTROL", theirs.detach())
        monkeypatch.setattr(verdict, "run_job", lambda asked, *_: self.jobs[asked["name"]]())
        o = argparse.Namespace(device="cpu", children=8, box="full", cache="", memory=0, total_memory=0,
                               running="")
        self.judge = judge.Judge(o)
        self.thread = threading.Thread(target=self.judge.run)
        self.thread.start()
        self.take("ready")

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)
        self.thread.join(WAIT_S)
        self.socket.close()
        assert not self.thread.is_alive()
        for m in list(self.judge.measuring.values()):
            self.judge.end_measuring(m, {"ms": None, "why": "the test is over"})
        self.judge.control.close()

    def say(self, kind: str, id: str, text: str = "", fds: list[int] | None = None) -> None:
        send_frame(self.socket, Frame(kind, id, 0, text.encode(), fds or []))

    def take(self, *kinds: str) -> Frame:
        """The next frame that matters; it must be one of these."""
        while True:
            assert select.select([self.socket], [], [], WAIT_S)[0], f"no {kinds}"
            frame = recv_frame(self.socket)
            if frame.kind in kinds:
                return frame
            assert frame.kind == "stage", frame

    def quiet(self) -> None:
        """Everything before is done, and nothing was said about it."""
        self.say("ping", "-")
        self.take("pong")

    def start(self, name: str, steps: Callable[[], Generator]) -> None:
        self.jobs[name] = steps
        asked = {"name": name, "device": "cpu", "kind": "task", "task": {"source": ""}}
        self.say("job", name, json.dumps(asked))

    def child(self) -> tuple[str, socket.socket]:
        """Answers the next fork: who it is for, and the child's end."""
        frame = self.take("fork")
        ours, theirs = socket.socketpair()
        self.say("child", frame.id, fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(WAIT_S)
        return frame.id, ours

    def answer(self, name: str) -> dict:
        frame = self.take("answer")
        assert frame.id == name
        return frame.json()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker(monkeypatch)
    yield made
    made.close()


def heard(sock: socket.socket) -> bytes:
    """A request of the judge's to monkeys-runner."""
    size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "little")
    return sock.recv(size, socket.MSG_WAITALL)


DONE = (runner._ANSWER.size).to_bytes(4, "little") + runner._ANSWER.pack(0, 0, 7, 8, 2**64 - 1, b"")


# ---- children ------------------------------------------------------------------------


def asking(message: dict = PING) -> Generator:
    """Asks a child of its own once; the end of the job says how that went."""
    yield Fork("p", 1000)
    try:
        answer = yield Ask(message, 1000)
    except (Gone, Forged) as problem:
        return {"raised": type(problem).__name__, "why": str(problem)}
    try:
        yield End()
    except Forged as problem:
        return {"raised": "Forged", "why": str(problem)}
    return {"said": answer}


def test_a_child_is_asked_and_answers(worker: Worker) -> None:
    worker.start("a", asking)
    _, child = worker.child()
    assert recv_message(child, 1000)[0] == PING
    send_message(child, {"ok": True})
    assert worker.take("end").id == "a"
    worker.say("gone", "a", "signal 9\n0\n")
    assert worker.answer("a")["said"] == {"ok": True}


@pytest.mark.parametrize("data", [b"\x02\0\0\0[]", b"\xff\xff\xff\xff", b"\x04\0\0\0oops"])
def test_what_is_no_message_is_a_forgery(worker: Worker, data: bytes) -> None:
    worker.start("a", asking)
    _, child = worker.child()
    recv_message(child, 1000)
    child.sendall(data)
    assert worker.take("end").id == "a"
    assert worker.answer("a")["raised"] == "Forged"


def test_a_message_that_nobody_asked_for_is_a_forgery(worker: Worker) -> None:
    """Here while the job waits for the device, which another has."""

    def holding() -> Generator:
        yield Device()
        yield Fork("p", 1000)
        yield Ask(PING, 1000)
        yield Release()
        return {}

    def forged() -> Generator:
        yield Fork("p", 1000)
        try:
            yield Device()
        except Forged as problem:
            return {"why": str(problem)}
        return {"why": None}

    worker.start("holder", holding)
    _, held = worker.child()
    worker.start("a", forged)
    _, child = worker.child()
    send_message(child, {"ok": True})
    assert worker.take("end").id == "a"
    assert worker.answer("a")["why"] == "it sent a message without being asked"
    held.close()


def test_what_a_child_said_before_it_died_is_heard(worker: Worker) -> None:
    worker.start("a", asking)
    _, child = worker.child()
    recv_message(child, 1000)
    send_message(child, {"ok": True})
    child.close()
    worker.say("gone", "a", "exit 0\n0\n")
    worker.take("end")
    worker.say("gone", "a", "exit 0\n0\n")
    assert worker.answer("a").get("said") == {"ok": True}


def test_a_child_that_dies_is_gone_with_what_it_printed(worker: Worker) -> None:
    def dying() -> Generator:
        yield Fork("p", 1000)
        try:
            yield Ask(PING, 1000)
        except Gone as gone:
            return {"why": gone.why, "output": gone.output}

    worker.start("a", dying)
    _, child = worker.child()
    child.close()
    worker.take("end")
    worker.say("gone", "a", "signal 11\n4096\nline one\nline two\n")
    found = worker.answer("a")
    assert (found["why"], found["output"]) == ("signal 11", "line one\nline two\n")


def test_a_task_that_cannot_be_judged_is_an_answer(worker: Worker) -> None:
    """Not a failure of the machinery's, which would be tried again for ever."""

    def unusable() -> Generator:
        yield from ()
        return {"infra": "the task cannot be judged: its reference hangs", "unusable": True}

    def sick() -> Generator:
        yield from ()
        return {"infra": "the disk is full"}

    worker.start("a", unusable)
    assert worker.answer("a")["unusable"] is True
    worker.start("b", sick)
    frame = worker.take("failed")
    assert frame.id == "b" and "disk" in frame.text()


# ---- the device ------------------------------------------------------------------------


def leasing(worker: Worker, name: str, hurt: bool = False) -> Callable[[], Generator]:
    """Leases the device, asks its executor once, gives it back."""

    def steps() -> Generator:
        try:
            yield Device("p+runner", 1000)
            worker.events.append(f"{name} has it")
            answer = yield Ask(runner.unload_request(), 1000)
            worker.events.append(f"{name} leaves it")
            yield Release(hurt)
        except (Gone, NoChild) as problem:
            yield Release(hurt=True)
            return {"raised": type(problem).__name__, "why": str(problem)}
        return {"status": int(runner.parse_answer(answer).status)}

    return steps


def serve(service: socket.socket) -> None:
    assert heard(service)
    service.sendall(DONE)


def test_the_device_is_lent_to_one_at_a_time_in_order(worker: Worker) -> None:
    for name in ("a", "b", "c"):
        worker.start(name, leasing(worker, name))
    id, service = worker.child()
    assert id == "service-1"
    worker.quiet()
    assert worker.events == ["a has it"]
    for name in ("a", "b", "c"):
        serve(service)
        assert worker.answer(name)["status"] == 0
    assert worker.events == [f"{n} {what} it" for n in "abc" for what in ("has", "leaves")]


def test_its_executor_outlives_jobs(worker: Worker) -> None:
    worker.start("a", leasing(worker, "a"))
    _, service = worker.child()
    serve(service)
    worker.answer("a")
    worker.start("b", leasing(worker, "b"))  # no fork
    serve(service)
    assert worker.answer("b")["status"] == 0


def test_an_executor_that_dies_is_its_owners_end_and_is_replaced(worker: Worker) -> None:
    worker.start("a", leasing(worker, "a"))
    worker.start("b", leasing(worker, "b"))
    _, service = worker.child()
    heard(service)
    service.close()
    worker.say("gone", "service-1", "signal 9\n0\nout of luck\n")
    assert worker.take("end").id == "service-1"
    id, fresh = next_child(worker, "a", {"raised": "Gone", "why": "signal 9"})
    assert id == "service-2"
    serve(fresh)
    assert worker.answer("b")["status"] == 0


def test_news_of_an_executor_that_was_given_up_in_the_same_breath_is_nobodys(worker: Worker) -> None:
    """Its socket was ready, too, when the loop heard of its end first."""
    stale = judge.Service("service-9", "c-cpu+runner")
    key = SimpleNamespace(data=stale, fileobj=None)
    rounds = iter([[(key, selectors.EVENT_READ)]])
    wait = worker.judge.select.select
    worker.judge.select.select = lambda timeout: next(rounds, None) or wait(timeout)
    worker.quiet()
    worker.quiet()


def next_child(worker: Worker, name: str, wanted: dict) -> tuple[str, socket.socket]:
    """The answer of a job and a fork, in whichever order they come."""
    made, answered = None, None
    while made is None or answered is None:
        frame = worker.take("fork", "answer")
        if frame.kind == "answer":
            answered = frame.json()
            assert frame.id == name and answered.items() >= wanted.items()
            continue
        ours, theirs = socket.socketpair()
        worker.say("child", frame.id, fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(WAIT_S)
        made = frame.id, ours
    return made


def test_a_hurt_executor_is_not_used_again(worker: Worker) -> None:
    worker.start("a", leasing(worker, "a", hurt=True))
    worker.start("b", leasing(worker, "b"))
    _, service = worker.child()
    serve(service)
    assert worker.take("end").id == "service-1"
    id, fresh = next_child(worker, "a", {"status": 0})
    assert id == "service-2"
    serve(fresh)
    assert worker.answer("b")["status"] == 0


def test_a_job_that_ends_with_the_device_gives_it_back_with_a_fresh_executor(worker: Worker) -> None:
    """Its generator raised: nobody knows what its kernels are doing."""

    def broken() -> Generator:
        yield Device("p+runner", 1000)
        raise ValueError("a bug of ours")

    worker.start("a", broken)
    worker.start("b", leasing(worker, "b"))
    worker.child()
    assert worker.take("note").text().rstrip().endswith("ValueError: a bug of ours")
    assert worker.take("end").id == "service-1"
    made = None
    while made is None:
        frame = worker.take("failed", "fork")
        if frame.kind == "fork":
            ours, theirs = socket.socketpair()
            worker.say("child", frame.id, fds=[theirs.fileno()])
            theirs.close()
            made = ours
    serve(made)
    worker.take("failed", "answer")


def test_an_executor_that_cannot_be_made_is_the_machinerys_fault(worker: Worker) -> None:
    worker.start("a", leasing(worker, "a"))
    frame = worker.take("fork")
    worker.say("nochild", frame.id, "no runner here")
    worker.take("end")
    found = worker.answer("a")
    assert found["raised"] == "NoChild" and "no runner here" in found["why"]


def test_the_device_by_itself_needs_no_executor(worker: Worker) -> None:
    def alone() -> Generator:
        yield Device()
        yield Release()
        return {"had": True}

    worker.start("a", alone)
    assert worker.answer("a")["had"]


def test_an_idle_executors_end_is_not_the_end_of_who_has_the_device_by_itself(worker: Worker) -> None:
    def beside() -> Generator:
        yield Device()
        yield Fork("p", 1000)
        answer = yield Ask(PING, 1000)
        yield End()
        yield Release()
        return {"said": answer}

    worker.start("a", leasing(worker, "a"))
    _, service = worker.child()
    serve(service)
    worker.answer("a")
    worker.start("b", beside)
    _, child = worker.child()
    recv_message(child, 1000)
    worker.say("gone", "service-1", "signal 9\n0\n")
    assert worker.take("end").id == "service-1"
    send_message(child, {"ok": True})
    assert worker.take("end").id == "b"
    worker.say("gone", "b", "signal 9\n0\n")
    assert worker.answer("b")["said"] == {"ok": True}


def test_a_cancelled_job_leaves_the_queue_for_the_device(worker: Worker) -> None:
    for name in ("a", "b", "c"):
        worker.start(name, leasing(worker, name))
    _, service = worker.child()
    worker.say("cancel", "b")
    worker.quiet()
    for name in ("a", "c"):
        serve(service)
        assert worker.answer(name)["status"] == 0
    assert "b has it" not in worker.events


def test_a_forged_answer_of_an_executor_never_reaches_a_job_as_done() -> None:
    for data in (b"", DONE[:-1], DONE + b"x", b"\0" * len(DONE), DONE[:4] + b"\xff" * 8 + DONE[12:]):
        with pytest.raises(runner.BadAnswer):
            runner.parse_answer(data)


# ---- exclusive ---------------------------------------------------------------------------


def test_who_measures_on_the_cpu_runs_alone(worker: Worker) -> None:
    def timed() -> Generator:
        yield Exclusive()
        worker.events.append("alone")
        return {}

    worker.start("busy", asking)
    _, child = worker.child()
    worker.start("timed", timed)
    worker.start("later", lambda: iter(()))  # not started while somebody waits to be alone
    worker.quiet()
    assert worker.events == []
    recv_message(child, 1000)
    send_message(child, {"ok": True})
    worker.take("end")
    worker.say("gone", "busy", "signal 9\n0\n")
    assert [worker.take("answer").id for _ in range(2)] == ["busy", "timed"]
    assert worker.events == ["alone"]


# ---- baselines -----------------------------------------------------------------------------

# What baseline.py does, without torch: each line of `says` on its own, `?` waits for one.
STAND_IN = """
import sys
sys.stdin.readline()
for line in sys.argv[1:]:
    if line == "?":
        assert sys.stdin.readline() == "go\\n"
    else:
        print(line, flush=True)
"""
FIGURES = '{"ms": {"median": 1.5}, "why": null}'


@pytest.fixture
def standing_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list]:
    """Measures by a stand-in that says these lines; the processes that were started."""

    def use(*says: str) -> list:
        made: list = []
        real = subprocess.Popen

        def popen(argv: list[str], **more: object) -> subprocess.Popen:
            made.append(argv[-1])
            return real([sys.executable, "-c", STAND_IN, *says], **more)

        monkeypatch.setattr(judge.subprocess, "Popen", popen)
        return made

    return use


def measuring(asked: dict) -> Callable[[], Generator]:
    def steps() -> Generator:
        return dict((yield Baseline(asked)))

    return steps


def test_two_jobs_of_one_task_share_a_baseline(worker: Worker, standing_in) -> None:
    made = standing_in("ready", "?", FIGURES)
    worker.start("a", measuring({"task": 1}))
    worker.start("b", measuring({"task": 1}))
    assert {worker.take("answer").id for _ in range(2)} == {"a", "b"}
    worker.start("c", measuring({"task": 1}))
    assert worker.answer("c")["ms"] == {"median": 1.5}
    assert [m.rpartition("/")[2] for m in made] == ["baseline.py"]


def test_a_baseline_waits_for_the_device_and_who_asked_does_not_hold_it(
    worker: Worker, standing_in
) -> None:
    standing_in("ready", "?", FIGURES)
    worker.start("a", leasing(worker, "a"))
    _, service = worker.child()
    worker.start("m", measuring({"task": 1}))
    worker.start("b", leasing(worker, "b"))
    worker.quiet()
    assert worker.events == ["a has it"]
    serve(service)
    assert worker.answer("a")["status"] == 0
    # Who is next depends on whether the baseline has compiled by now; both come.
    serve(service)
    assert {worker.take("answer").id for _ in range(2)} == {"m", "b"}
    assert worker.events == [f"{n} {what} it" for n in "ab" for what in ("has", "leaves")]


@pytest.mark.parametrize(
    "says, why",
    [(['{"ms": null, "why": "RuntimeError: no compiler"}'], "no compiler"), ([], "ended"),
     (["ready"], "ended")],
)  # fmt: skip
def test_a_baseline_that_fails_says_why_and_nobody_waits(
    worker: Worker, standing_in, says: list[str], why: str
) -> None:
    standing_in(*says)
    worker.start("a", measuring({"task": 1}))
    found = worker.answer("a")
    assert found["ms"] is None and why in found["why"]
    worker.start("b", leasing(worker, "b"))
    _, service = worker.child()
    serve(service)
    assert worker.answer("b")["status"] == 0


def test_a_baseline_has_a_time_limit(
    worker: Worker, standing_in, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "BASELINE_S", 0)
    standing_in("?")
    worker.start("a", measuring({"task": 1}))
    found = worker.answer("a")
    assert found["ms"] is None and "longer than 0 s" in found["why"]
