"""The judge: one per device, trusted. It holds references, truths, tolerances and verdicts, asks
the worker for children, tells them what to do, and trusts only bytes that it compared itself.

Started by monkeys-worker with its control socket as descriptor 3:
    python judge/judge.py --home DIR --device cpu|cuda:N --children N --box full|thin|none
                          --cache DIR --memory BYTES --total-memory BYTES --running FILE
"""

import argparse
import collections
import gc
import contextlib
import json
import os
import platform
import selectors
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Generator
from dataclasses import dataclass

if __name__ == "__main__":
    # worker/, where the packages lie
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    gc.disable()  # until all is imported: nothing of it is garbage
    os.environ.setdefault("LOGNAME", "monkeys")  # torch asks who runs it; a container's user has no name
    os.environ["ONEDNN_JIT_PROFILE"] = "0"  # else torch leaves a file for perf in /tmp

from judge.steps import Ask, Baseline, Beside, Device, End, Exclusive, Forged, Fork, Gone, NoChild
from judge.steps import Release
from shared import processes, unfit
from shared.frames import CONTROL, MAX_MESSAGE, Broken, Channel, Closed, Frame, recv_frame
from shared.frames import send_frame

with unfit.reported():
    import torch
    from judge import blame, verdict
    from judge.blame import Blame
    from judge.builds import Builds
    from judge.room import Room
    from judge.words import RULES
    from shared import limits

BASELINE_S = 300  # what compiling and measuring a baseline may take
KILLED = "signal 9"  # not by the worker, which says why it kills
ORPHANED = "orphaned"  # how a child ends whose zygote did (src/worker/host.c)


@dataclass(eq=False)
class Measuring:
    """A process of baseline.py, and the jobs that wait for its result."""

    process: subprocess.Popen
    key: str
    until: float
    jobs: list["Job"]
    text: bytes = b""
    ready: bool = False  # it has compiled, and wants the device for itself


@dataclass(eq=False)
class Service:
    """The device's executor: a child that does not belong to a job."""

    id: str
    zygote: str
    channel: Channel | None = None


@dataclass
class Job:
    id: str
    asked: dict
    steps: Generator
    started: float
    task: str = ""  # what it is blamed by (blame.py)
    peak: int = 0  # bytes, of its largest child
    child: Channel | None = None
    leaving: bool = False  # the worker was asked to end the child
    waiting: object = None  # what its generator last asked for
    exclusive: bool = False


class Judge:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o = o
        self.control = socket.socket(fileno=CONTROL)
        os.set_inheritable(CONTROL, False)
        self.select = selectors.DefaultSelector()
        self.select.register(self.control, selectors.EVENT_READ, None)
        self.queue: collections.deque = collections.deque()
        self.jobs: dict[str, Job] = {}
        self.killed: set[str] = set()  # jobs whose child was killed by somebody else
        self.service: Service | None = None
        self.services = 0  # started so far
        self.owner: Job | Measuring | None = None  # of the device
        self.measuring: dict[str, Measuring] = {}
        self.measured: dict[str, dict] = {}
        self.for_device: collections.deque[Job] = collections.deque()
        self.environment = environment(o)
        self.builds = Builds(o.cache or None)
        self.blame = Blame(o.running)
        limits.LIMITS.note = self.blame.note
        self.room = Room(o.total_memory if o.device == "cpu" else 0, o.memory, o.children)

    def say(self, kind: str, job: str = "-", deadline: int = 0, payload: bytes = b"") -> None:
        send_frame(self.control, Frame(kind, job, deadline, payload))

    def run(self) -> None:
        self.say("ready", payload=json.dumps(self.environment).encode())
        while True:
            self.start_jobs()
            for key, events in self.select.select(1.0 if self.measuring else None):
                if isinstance(key.data, Measuring):
                    self.measuring_speaks(key.data)
                elif key.data is None:
                    if not self.control_frame():
                        return
                elif key.data is self.service:
                    self.service_ready(events)
                elif key.data in self.jobs and self.jobs[key.data].child is key.fileobj:
                    self.child_ready(self.jobs[key.data], events)
            for late in [m for m in self.measuring.values() if time.monotonic() > m.until]:
                self.end_measuring(late, {"ms": None, "why": f"it took longer than {BASELINE_S} s"})

    # ---- starting and stepping ----

    def start_jobs(self) -> None:
        while self.queue and len(self.jobs) < self.o.children and not self.alone():
            name, asked = self.queue[0]
            if not self.room.enter(name, asked):
                return
            self.queue.popleft()
            steps = verdict.run_job(asked, self.environment, self.builds, self.o)
            task = blame.blame_key(asked)
            if self.blame.blames(task) and not verdict.is_boxed(asked):
                steps = verdict.unusable(asked, self.environment, blame.WHY)
            job = Job(name, asked, steps, time.monotonic(), task)
            self.jobs[job.id] = job
            self.step(job, None)

    def take_job(self, name: str, asked: dict) -> None:
        here, there = (d.partition(":")[0] for d in (self.o.device, asked["device"]))
        if asked.get("rules", RULES) != RULES:
            why = (f"it asks for version {asked['rules']} of the rules of truth, and this worker judges by "
                   f"version {RULES}; use the same version of both")  # fmt: skip
            self.say("failed", name, payload=why.encode())
            return
        if here == there:
            self.queue.append((name, asked))
            return
        why = f"it is for {asked['device']}, and this worker has --device {self.o.device}"
        self.say("failed", name, payload=why.encode())

    def alone(self) -> bool:
        """Whether a job runs alone or waits to."""
        return any(j.exclusive or isinstance(j.waiting, Exclusive) for j in self.jobs.values())

    def step(self, job: Job, value: object) -> None:
        """Resumes the generator with its answer and carries out its next step."""
        job.waiting = None
        self.blame.turn(job.id, job.task)
        try:
            if isinstance(value, Exception):
                wanted = job.steps.throw(value)
            else:
                wanted = job.steps.send(value)
        except StopIteration as end:
            self.finish(job, end.value)
            return
        except Exception:  # a bug of ours or a sick device: never the candidate's
            text = traceback.format_exc()
            self.say("note", payload=text[-3000:].encode(errors="replace"))
            self.finish(job, {"infra": text[-1500:]})
            self.check_device()
            return
        job.waiting = wanted
        self.grant(job)

    def grant(self, job: Job) -> None:
        wanted = job.waiting
        if isinstance(wanted, Fork):
            self.say("fork", job.id, wanted.deadline_ms, f"{wanted.zygote} {wanted.memory}".encode())
        elif isinstance(wanted, Ask):
            self.ask(job, wanted)
        elif isinstance(wanted, Exclusive):
            self.try_exclusive()
        elif isinstance(wanted, Device):
            self.for_device.append(job)
            self.lend_device()
        elif isinstance(wanted, Release):
            self.take_device(job, wanted.hurt)
            self.step(job, None)
        elif isinstance(wanted, Baseline):
            self.want_baseline(job, wanted.asked)
        elif isinstance(wanted, Beside):
            known = job.child is not None and job.child.peer is not None
            self.step(job, processes.beside(job.child.peer) if known else [])
        elif isinstance(wanted, End):
            self.drop_child(job)

    def ask(self, job: Job, wanted: Ask) -> None:
        if job.child is not None:
            self.say("stage", job.id, wanted.deadline_ms)
            job.child.put(wanted.message, wanted.fds)
            self.flush(job)
        elif job is self.owner and self.service is not None:
            self.say("stage", self.service.id, wanted.deadline_ms)
            self.service.channel.put(wanted.message, wanted.fds)
            self.flush_service()
        # else: it is dying, and `gone` follows

    def flush(self, job: Job) -> None:
        try:
            job.child.flush()
        except OSError:
            self.lose_child(job)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if job.child.outgoing else 0)
        self.select.modify(job.child, wanted, job.id)

    def try_exclusive(self) -> None:
        others = [j for j in self.jobs.values() if not isinstance(j.waiting, Exclusive)]
        waiting = [j for j in self.jobs.values() if isinstance(j.waiting, Exclusive)]
        if not others and waiting:
            waiting[0].exclusive = True
            self.step(waiting[0], None)

    def drop_child(self, job: Job) -> None:
        """Kills the child; the generator continues when it is gone."""
        self.lose_child(job)
        if not job.leaving:
            self.step(job, None)

    def lose_child(self, job: Job) -> None:
        """Closes the connection; the worker kills the child and reports `gone`."""
        if job.child is not None:
            self.select.unregister(job.child)
            job.child.close()
            job.child = None
            job.leaving = True
            self.say("end", job.id)

    def finish(self, job: Job, answer: dict) -> None:
        answer.setdefault("times_ms", {})["total"] = round((time.monotonic() - job.started) * 1e3, 1)
        self.lose_child(job)
        self.forget(job)
        if answer.get("verdict"):
            self.note_peak(job, answer)
        if answer.get("infra") and not answer.get("unusable"):
            self.say("failed", job.id, 0, str(answer["infra"]).encode(errors="replace"))
        else:
            self.killed.discard(job.id)
            self.blame.judged(job.id, job.task)
            self.say("answer", job.id, 0, json.dumps(answer, allow_nan=False).encode())
        self.try_exclusive()

    def forget(self, job: Job) -> None:
        del self.jobs[job.id]
        self.room.leave(job.id)
        if job in self.for_device:
            self.for_device.remove(job)
        if job is self.owner:
            self.take_device(job, hurt=True)

    def note_peak(self, job: Job, answer: dict) -> None:
        """Records the peak memory of its processes, as reported by the worker; on CUDA only the
        region counts."""
        if self.o.device == "cpu":
            answer["peak_bytes"] = max(job.peak, answer["peak_bytes"] or 0) or None
            self.room.learn(job.asked, answer["peak_bytes"] or 0, bool(answer["trials"]))

    def check_device(self) -> None:
        """Runs a kernel whose result is known. Once a device has failed in this process, it stays
        unusable here, so the process exits and the worker starts a new one."""
        if self.o.device == "cpu":
            return
        try:
            well = int((torch.arange(256, device="cuda:0") + 1).sum()) == 32896
        except torch.OutOfMemoryError:
            well = True  # it answers; somebody fills it for the moment
        except RuntimeError as problem:
            self.say("note", payload=f"the device fails: {problem}"[:2000].encode(errors="replace"))
            well = False
        if not well:
            raise SystemExit("the device no longer computes")

    # ---- the device's executor ----

    def lend_device(self) -> None:
        """If the device is free, lends it to the job that has waited longest."""
        if self.owner is not None:
            return
        for measuring in self.measuring.values():
            if measuring.ready:
                self.owner = measuring
                if self.o.device != "cpu":
                    torch.cuda.empty_cache()  # it may need what the judge keeps for later
                with contextlib.suppress(OSError):  # it has ended: its output says so
                    measuring.process.stdin.write(b"go\n")
                    measuring.process.stdin.flush()
                return
        if not self.for_device:
            return
        self.owner = job = self.for_device.popleft()
        if not job.waiting.zygote:  # the device by itself
            self.step(job, None)
            return
        if self.service is not None and self.service.zygote != job.waiting.zygote:
            self.end_service()
        if self.service is None:
            self.services += 1
            self.service = Service(f"service-{self.services}", job.waiting.zygote)
            payload = f"{job.waiting.zygote} 0".encode()
            self.say("fork", self.service.id, job.waiting.deadline_ms, payload)
        else:
            self.step(job, None)

    def take_device(self, job: Job, hurt: bool) -> None:
        if job is not self.owner:
            return
        self.owner = None
        if hurt:
            self.end_service()
        self.lend_device()

    def end_service(self) -> None:
        if self.service is None:
            return
        if self.service.channel is not None:
            self.select.unregister(self.service.channel)
            self.service.channel.close()
        self.say("end", self.service.id)
        self.service = None

    def service_frame(self, frame: Frame) -> None:
        """Handles what the worker says about the executor; frames about a discarded one are
        ignored."""
        if self.service is None or frame.id != self.service.id:
            for fd in frame.fds:
                os.close(fd)
            return
        if frame.kind == "child":
            self.service.channel = Channel(socket.socket(fileno=frame.fds[0]))
            self.select.register(self.service.channel, selectors.EVENT_READ, self.service)
            self.step(self.owner, None)
            return
        while frame.kind == "gone" and self.service is not None and self.service.channel is not None \
                and self.service.channel.readable():
            self.service_ready(selectors.EVENT_READ)  # what it said before it died
        self.end_service()
        if self.waits_for_service():
            why, _, rest = frame.text().partition("\n")
            output = rest.partition("\n")[2]
            self.step(self.owner, NoChild(frame.text()) if frame.kind == "nochild" else Gone(why, output))

    def waits_for_service(self) -> bool:
        """A job that has the device without an executor has its own child, or no child."""
        job = self.owner
        return isinstance(job, Job) and job.child is None and isinstance(job.waiting, (Ask, Device))

    def flush_service(self) -> None:
        channel = self.service.channel
        try:
            channel.flush()
        except OSError:
            return  # `gone` follows
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.outgoing else 0)
        self.select.modify(channel, wanted, self.service)

    def service_ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self.flush_service()
        if not events & selectors.EVENT_READ:
            return
        service, job = self.service, self.owner
        try:
            service.channel.fill()
            answer = service.channel.message(MAX_MESSAGE, raw=True)
        except Broken:
            self.select.unregister(service.channel)
            service.channel.close()
            service.channel = None  # and `gone` says the rest
            return
        if answer is not None and isinstance(job, Job) and isinstance(job.waiting, Ask):
            self.say("stage", service.id, 0)
            self.step(job, answer)

    # ---- what kernels are compared with ----

    def want_baseline(self, job: Job, asked: dict) -> None:
        key = json.dumps(asked, sort_keys=True)
        if key in self.measured:
            self.step(job, self.measured[key])
            return
        if key not in self.measuring:
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "baseline.py")
            process = subprocess.Popen(
                [sys.executable, "-B", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            os.set_blocking(process.stdout.fileno(), False)
            process.stdin.write(key.encode() + b"\n")
            process.stdin.flush()
            made = Measuring(process, key, time.monotonic() + BASELINE_S, [])
            self.measuring[key] = made
            self.select.register(process.stdout, selectors.EVENT_READ, made)
        self.measuring[key].jobs.append(job)

    def measuring_speaks(self, m: Measuring) -> None:
        data = m.process.stdout.read() or b""
        m.text += data
        if not data:
            self.end_measuring(m, {"ms": None, "why": "the process that measures it ended"})
            return
        lines = m.text.split(b"\n")
        if len(lines) > 2 or len(lines) == 2 and lines[0] != b"ready":
            self.end_measuring(m, json.loads(lines[-2]))
        elif lines[0] == b"ready" and not m.ready:
            m.ready = True
            self.lend_device()

    def end_measuring(self, m: Measuring, found: dict) -> None:
        del self.measuring[m.key]
        self.measured[m.key] = found
        self.select.unregister(m.process.stdout)
        m.process.kill()
        m.process.wait()
        with contextlib.suppress(OSError):  # what it did not read
            m.process.stdin.close()
        m.process.stdout.close()
        if self.owner is m:
            self.owner = None
        for job in m.jobs:
            if job.id in self.jobs and isinstance(job.waiting, Baseline):
                self.step(job, found)
        self.lend_device()

    # ---- what comes in ----

    def control_frame(self) -> bool:
        try:
            frame = recv_frame(self.control)
        except Broken:
            return False
        if frame.kind == "job":
            self.take_job(frame.id, frame.json())
            return True
        if frame.kind == "ping":
            self.check_device()
            self.say("pong")
            return True
        if frame.id.startswith("service-"):
            self.service_frame(frame)
            return True
        job = self.jobs.get(frame.id)
        if frame.kind == "cancel":
            self.cancel(frame.id, job)
        elif job is None:
            for fd in frame.fds:
                os.close(fd)
        elif frame.kind == "child":
            job.child = Channel(socket.socket(fileno=frame.fds[0]))
            self.select.register(job.child, selectors.EVENT_READ, job.id)
            self.step(job, None)
        elif frame.kind == "nochild":
            self.step(job, NoChild(frame.text()))
        elif frame.kind == "gone":
            self.child_gone(job, frame.text())
        return True

    def cancel(self, name: str, job: Job | None) -> None:
        """The worker has already dropped the job and its child."""
        self.queue = collections.deque(entry for entry in self.queue if entry[0] != name)
        if job is not None:
            self.lose_child(job)
            job.steps.close()
            self.forget(job)
            self.try_exclusive()

    def child_gone(self, job: Job, text: str) -> None:
        why, peak, output = text.split("\n", 2)
        job.peak = max(job.peak, int(peak))
        self.hear_out(job)
        if job.id not in self.jobs:
            return
        if job.child is not None:
            self.select.unregister(job.child)
            job.child.close()
            job.child = None
        job.leaving = False
        if isinstance(job.waiting, End):
            self.step(job, None)
        elif why == ORPHANED:
            job.steps.close()
            self.finish(job, {"infra": f"the process that starts {starts(job.asked)}"})
        elif why == KILLED and job.id not in self.killed:
            # By the system, which is short of memory, or by a person. If it was the candidate
            # itself, it happens again.
            self.killed.add(job.id)
            job.steps.close()
            self.finish(job, {"infra": "somebody killed the candidate's process"})
        else:
            self.step(job, Gone(why, output))

    def hear_out(self, job: Job) -> None:
        """Reads what the child sent before it died, if the news of its death arrived first."""
        child = job.child
        while child is not None and job.child is child and child.readable():
            self.child_ready(job, selectors.EVENT_READ)

    def child_ready(self, job: Job, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self.flush(job)
        if job.child is None or not events & selectors.EVENT_READ:
            return
        asked = job.waiting if isinstance(job.waiting, Ask) else None
        try:
            job.child.fill()
            answer = job.child.message(MAX_MESSAGE, raw=asked is not None and isinstance(asked.message, bytes))
        except Closed:
            self.lose_child(job)  # and `gone` says the rest
            return
        except Broken as problem:
            self.step(job, Forged(str(problem)))
            return
        if asked is None:
            self.step(job, Forged("it sent a message without being asked"))
        elif answer is not None:
            self.say("stage", job.id, 0)  # it waits for us now
            self.step(job, answer)


def starts(asked: dict) -> str:
    """What the zygote that ended is for."""
    if "pack" not in asked:
        return "pieces of tasks ended"
    return f"candidates of the pack {asked['pack']} ended; `monkeys doctor` tests the pack"


def environment(o: argparse.Namespace) -> dict:
    facts = {
        "device": o.device,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "box": o.box,
    }
    if o.device != "cpu":
        facts["gpu"] = torch.cuda.get_device_name(0)
        facts["cuda"] = torch.version.cuda
    return facts


def no_cuda() -> str:
    if torch.version.cuda is None:
        return (
            f"torch {torch.__version__} of {sys.executable} is built without CUDA; "
            "MONKEYS_PYTHON names another Python"
        )
    return f"torch {torch.__version__} sees no GPU; run nvidia-smi to see whether the driver finds one"


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--home", required=True)
    p.add_argument("--device", required=True)
    p.add_argument("--children", type=int, default=1)
    p.add_argument("--box", default="full")
    p.add_argument("--cache", default="")
    p.add_argument("--running", default="")
    p.add_argument("--memory", type=int, default=0)
    p.add_argument("--total-memory", type=int, default=0)
    o = p.parse_args()
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with unfit.reported():
        if o.device != "cpu" and not torch.cuda.is_available():
            raise SystemExit(f"{o.device}: {no_cuda()}")
        limits.configure(o.total_memory if o.device == "cpu" else 0)
        judge = Judge(o)
    gc.freeze()  # what was imported stays, and need not be looked at again
    gc.enable()
    judge.run()


if __name__ == "__main__":
    main()
