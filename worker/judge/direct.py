"""Packs without a recorder. The candidate's Python runs in a box together with the inputs, so
nobody can tell what computed its outputs. Their verdicts reach at most E2 and are never archived.
The comparison is the same: the judge writes a region and reads it (session.py)."""

import math
from collections.abc import Callable, Generator

from judge import answers, taskfile
from judge.executors import Ran, start_child
from judge.judging import Progress, Verdict, fail_on_error
from judge.region import Region
from judge.session import Session
from judge.sheets import Sheet, init_seed
from judge.steps import Ask, Device, End, Release
from judge.traces import Buffer, Call, Trace, View
from shared.program import ITEM
from shared.structure import contiguous


class Beside:
    """The judge's side of a process that has both the candidate's Python and the data."""

    orders = False

    def __init__(self, job: dict, facts, p: Progress) -> None:
        self.job, self.facts, self.p = job, facts, p
        self.region: Region | None = None

    def load(self) -> Generator:
        """Builds ModelNew. Returns the reference's state that each of its names refers to."""
        yield from start_child(self.job, self.job["pack"] + "+direct")
        message = {
            "op": "direct",
            "source": self.job["candidate"],
            "init_source": taskfile.init_part(self.job["task"]["source"]),
            "init_seed": init_seed(self.job),
            "precision": self.job["precision"],
            "inputs": self.facts.spec,
            "state": self.facts.state,
        }
        answer = yield Ask(message, self.job["deadlines"]["load_ms"])
        fail_on_error(answer, self.p)
        return answers.names(answer, [name for name, _, _ in self.facts.state])

    def open(self, region: Region) -> Generator:
        self.region = region
        message = {"op": "map", "bytes": region.size}
        answer = yield Ask(message, self.job["deadlines"]["load_ms"], [region.fd])
        fail_on_error(answer, self.p)

    def run(self, part: int, config: int = 0, mute: bool = False, order: str | int = "forward",
            timed: bool = False, deadline_ms: int = 0) -> Generator:  # fmt: skip
        layout = self.region.layout
        message = {"op": "forward", "inputs": layout.inputs, "state": layout.state,
                   "outputs": layout.parts[1][-len(self.facts.outputs) :],
                   "written": self.facts.written,
                   "wanted": [[list(shape), dtype] for shape, dtype in self.facts.outputs]}  # fmt: skip
        answer = yield Ask(message, deadline_ms or self.job["deadlines"]["call_ms"])
        fail_on_error(answer, self.p)
        check_claimed_outputs(answers.outputs(answer), self.facts.outputs, self.p.stage)
        return Ran(0.0, 0.0)


def check_claimed_outputs(got: list[tuple[tuple, str]], wanted: list[tuple[tuple, str]], stage: str) -> None:
    """What the process says is to its own disadvantage only: the outputs are compared anyway."""
    if len(got) != len(wanted):
        text = f"forward returned {len(got)} tensors, expected {len(wanted)}."
        raise Verdict("wrong_shape", stage, text)
    for i, ((shape, dtype), (meant, kind)) in enumerate(zip(got, wanted)):
        if shape != meant:
            text = f"output {i} has the shape {list(shape)}, expected {list(meant)}."
            raise Verdict("wrong_shape", stage, text)
        if dtype != kind:
            raise Verdict("wrong_dtype", stage, f"output {i} has the dtype {dtype}, expected {kind}.")


def shell(facts, names: dict[str, str]) -> Trace:
    """A trace of one call without nodes: only its outputs have places."""
    buffers, views = [], []
    for i, (shape, dtype) in enumerate(facts.outputs):
        buffers.append(Buffer("new", None, math.prod(shape) * ITEM[dtype], dtype))
        views.append(View(i, dtype, 0, tuple(shape), contiguous(shape)))
    call = Call(buffers, [], {}, None, views)
    return Trace([], Call([], [], {}), [call], [], [], False, b"")


def judge(job: dict, facts, p: Progress, o: object, make_reference: Callable) -> Generator:
    p.beside = True
    executor = Beside(job, facts, p)
    names = yield from executor.load()
    if job["device"] != "cpu":
        yield Device()
    asked = Sheet(job, make_reference(job), job["seed"], False)
    session = Session(job, facts, shell(facts, names), names, asked, executor, p)
    p.stage = "trials"
    try:
        session.make_region(0, o)
        yield from executor.open(session.region)
        yield from session.trials()
        p.hardened = True
    finally:
        session.close()
    yield End()
    yield Release()
