"""The judge's side of the processes that run a trace. Each works only on the region, following a
program made by the judge. None of them runs the candidate's host code, except for the functions of a
library, which are the kernels on the CPU.

    Interpreter   a forked Python that interprets checked kernels (Triton on the CPU)
    LibraryRunner monkeys-runner, which runs a library of the candidate's in a process for each call
    DeviceRunner  monkeys-runner on a GPU; it outlives candidates until one hurts it

Their methods are generators of steps (steps.py). `part` 0 is the trace's setup, 1 its first call,
and so on; `config` selects a configuration of an autotuner."""

import itertools
import os
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from judge import runner
from judge.judging import Progress, Verdict, fail_if_broken, fail_on_error
from judge.launches import Built, Family, Maker
from judge.region import Layout, Region, sealed_file
from judge.runner import Status
from judge.steps import Ask, Device, End, Forged, Fork, Gone, NoChild, Release
from judge.traces import BadTrace, Call, Launch, Move, Refused, Trace
from shared import inputs, program

LATE = "late"  # how a child ends whose job has had its time (src/worker/host.c)


@dataclass
class Ran:
    """One call: how long it took, and how much of that was the host's."""

    device_ms: float
    host_ms: float


def start_child(job: dict, zygote: str, record: bool = False) -> Generator:
    """Starts a child and waits for its first answer. Failures before that, in the box or the
    harness, are ours; failures after it are the candidate's."""
    deadline = job["deadlines"]["load_ms"]
    yield Fork(zygote, deadline, job["limits"]["memory_bytes"])
    try:
        return (yield Ask({"op": "ping", "record": record}, deadline))
    except Gone as gone:
        raise not_started(gone) from None


def not_started(gone: Gone) -> Exception:
    """The exception for a child that ended before it had seen anything of the candidate."""
    if gone.why == LATE:
        return gone
    said = gone.output.strip()[-2000:] or "no message"
    return NoChild(f"a boxed process ended before its work began ({gone.why}): {said}")


class Interpreter:
    orders = True  # it can run the programs of a grid in any order

    def __init__(self, job: dict, trace: Trace, family: Family, p: Progress) -> None:
        self.job, self.trace, self.family, self.p = job, trace, family, p

    def open(self, region: Region, built: Built | None) -> Generator:
        yield from start_child(self.job, self.job["pack"] + "+interpret")
        parts = [
            {"buffers": [[at, b.bytes] for at, b in zip(places, part.buffers)],
             "left": [i for i, b in enumerate(part.buffers) if not b.may_change()],
             "nodes": [self.node(node, raw, part, built) for node, raw in zip(part.nodes, part.raw["nodes"])]}
            for places, part in zip(region.layout.parts, self.trace.parts())
        ]  # fmt: skip
        message = {"op": "load", "source": self.job["candidate"], "kernels": self.trace.kernels,
                   "parts": parts, "bytes": region.size,
                   "call_ms": self.job["deadlines"]["call_ms"],
                   "seed": inputs.derive(self.job["seed"], "trees")}  # fmt: skip
        answer = yield Ask(message, self.job["deadlines"]["load_ms"], [region.fd])
        fail_if_broken(answer)
        fail_on_error(answer, self.p)

    def node(self, node: Move | Launch, raw: dict, part: Call, built: Built | None) -> dict:
        """As the trace has it; an autotuner's configuration that does not compile is another one, as
        on a GPU."""
        if not isinstance(node, Launch) or not node.tuned:
            return raw
        every = range(node.configurations())
        return raw | {"tuned": [node.at(built.chosen(node, c, part, self.family)[0]) for c in every]}

    def run(self, part: int, config: int = 0, mute: bool = False, order: str | int = "forward",
            timed: bool = False, deadline_ms: int = 0) -> Generator:  # fmt: skip
        message = {"op": "run", "part": part, "config": config, "mute": mute,
                   "order": order}  # fmt: skip
        before = time.monotonic()
        answer = yield Ask(message, deadline_ms or self.job["deadlines"]["call_ms"])
        outside = (time.monotonic() - before) * 1e3
        fail_if_broken(answer)
        fail_on_error(answer, self.p, executor=True)
        return Ran(outside, outside)

    def close(self, hurt: bool = False) -> Generator:
        yield End()


def heard(data: bytes) -> runner.Done:
    try:
        return runner.parse_answer(data)
    except runner.BadAnswer as problem:
        raise Forged(str(problem)) from None


class _Runner:
    """Shared by both uses of monkeys-runner."""

    orders = False
    kinds = {"cubin", "library"}  # of modules

    def __init__(self, job: dict, trace: Trace, family: Family, p: Progress) -> None:
        self.job, self.trace, self.family, self.p = job, trace, family, p

    def greet(self) -> Generator:
        """Waits for the runner's first answer; failures before that are ours."""
        try:
            done = heard((yield Ask(runner.unload_request(), self.job["deadlines"]["load_ms"])))
        except Gone as gone:
            raise not_started(gone) from None
        if done.status != Status.DONE:
            raise NoChild(f"the runner refuses: {done.text}")

    def load(self, region: Region, built: Built | None) -> Generator:
        made = make_program(self.trace, self.family, built, region.layout)
        if not {module.kind for module in made.modules} <= self.kinds:
            raise BadTrace("the compiler's answer has host code, where only kernels run")
        data = runner.encode(made)
        file = sealed_file(len(data))
        try:
            os.pwrite(file, data, 0)
            message = runner.load_request(len(data), region.size)
            deadline = self.job["deadlines"]["load_ms"]
            done = heard((yield Ask(message, deadline, [file, region.fd])))
        finally:
            os.close(file)
        self.check(done)

    def run(self, part: int, config: int = 0, mute: bool = False, order: str | int = "forward",
            timed: bool = False, deadline_ms: int = 0) -> Generator:  # fmt: skip
        index = config * len(self.trace.parts()) + part
        done = heard((yield Ask(
            runner.run_request(index, mute, timed), deadline_ms or self.job["deadlines"]["call_ms"]
        )))  # fmt: skip
        self.check(done)
        return Ran(self.device_ns(done) / 1e6, done.host_ns / 1e6)

    def device_ns(self, done: runner.Done) -> int:
        return done.device_ns

    def check(self, done: runner.Done) -> None:
        if done.status == Status.DONE:
            return
        if done.status in (Status.BAD_REQUEST, Status.BAD_PROGRAM, Status.NO_DEVICE):
            raise NoChild(f"the runner refuses: {done.text}")
        if done.status == Status.CALL_ENDED:
            raise Gone(done.text, "")
        stage = "trials" if self.p.trials else "first_call"
        text = f"A kernel could not run: {done.text}"
        if done.status == Status.NO_MEMORY:
            raise Verdict("out_of_memory", stage, text)
        self.p.compiled = True
        raise Verdict("launch_error", stage, text)


class LibraryRunner(_Runner):
    def open(self, region: Region, built: Built | None) -> Generator:
        """Checks that the runner answers before loading the library: failures until then are
        ours."""
        deadline = self.job["deadlines"]["load_ms"]
        yield Fork(self.job["pack"] + "+runner", deadline, self.job["limits"]["memory_bytes"])
        yield from self.greet()
        yield from self.load(region, built)

    def device_ns(self, done: runner.Done) -> int:
        """Its clock starts before the library's code does, and ends when none of it runs."""
        return done.host_ns

    def close(self, hurt: bool = False) -> Generator:
        yield End()
        yield Release()


class DeviceRunner(_Runner):
    """Already holds the device."""

    kinds = {"cubin"}

    def open(self, region: Region, built: Built | None) -> Generator:
        yield from self.greet()
        yield from self.load(region, built)

    def close(self, hurt: bool = False) -> Generator:
        """Removes everything of the candidate."""
        if hurt:
            yield Release(hurt=True)
            return
        done = heard((yield Ask(runner.unload_request(), self.job["deadlines"]["load_ms"])))
        yield Release(hurt=done.status != Status.DONE)


def make_program(trace: Trace, family: Family, built: Built, layout: Layout) -> program.Program:
    """Every part of the trace in every configuration, in the order that `run` expects."""
    maker, calls, left = Maker(built, family, layout.scratch), [], program.NODES
    for config in range(trace.configurations()):
        for part, places in zip(trace.parts(), layout.parts):
            calls.append(tuple(itertools.islice(_nodes_of(maker, part, places, config), left + 1)))
            left -= len(calls[-1])
            if left < 0:
                said = f"all calls together launch and move more than {program.NODES} times"
                raise Refused("launches", said)
    return program.Program(built.modules, built.functions, tuple(calls))


def _nodes_of(maker: Maker, part: Call, places: list[int], config: int) -> Iterator[program.Node]:
    """One launch in the trace may become several in a program."""
    for node in part.nodes:
        if isinstance(node, Launch):
            yield from maker.nodes(node, part, places, config)
        else:
            yield node.node(places)


def kernel_counts(trace: Trace, family: Family, built: Built | None) -> Callable[[Launch], int]:
    """How many kernels a launch of the trace becomes; `built` is None where they are interpreted."""
    if built is None:
        return lambda launch: 1
    counts = {
        id(launch): len(built.chosen(launch, 0, call, family)[1])
        for call in trace.calls
        for launch in call.launches()
    }
    return lambda launch: counts[id(launch)]


def lease(job: dict) -> Generator:
    """Reserves the device for this job."""
    yield Device(job["pack"] + "+runner", job["deadlines"]["load_ms"])
