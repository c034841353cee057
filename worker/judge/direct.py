"""Packs without a recorder. The candidate's Python runs in a box together with the inputs, so
nobody can tell what computed its outputs. Their verdicts reach at most E2 and are never archived.
The comparison is the same: the judge writes a region and reads it (session.py)."""

from collections.abc import Callable, Generator

from judge import answers, taskfile
from judge.executors import Ran, start_child
from judge.judging import Progress, fail_on_error
from judge.region import Region
from judge.session import Session
from judge.sheets import Sheet, init_seed
from judge.steps import Ask, Device, End, Release
from judge.traces import Buffer, Call, Trace, View
from shared.plan import ITEM


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
                   "written": self.facts.written}  # fmt: skip
        answer = yield Ask(message, deadline_ms or self.job["deadlines"]["call_ms"])
        fail_on_error(answer, self.p)
        return Ran(0.0, 0.0)


def shell(facts, names: dict[str, str]) -> Trace:
    """A trace of one call without nodes: only its outputs have places."""
    buffers, views = [], []
    for i, (shape, dtype) in enumerate(facts.outputs):
        strides, count = [], 1
        for n in reversed(shape):
            strides.insert(0, count)
            count *= n
        buffers.append(Buffer("new", None, count * ITEM[dtype], dtype))
        views.append(View(i, dtype, 0, tuple(shape), tuple(strides)))
    call = Call(buffers, [], {}, None, views)
    return Trace([], Call([], [], {}), [call], [], [], False, b"")


def judge(job: dict, facts, p: Progress, o: object, make_reference: Callable) -> Generator:
    p.capped = (
        "This language has no recorder: its candidates run beside the inputs, so evidence ends "
        "at E2."
    )
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
