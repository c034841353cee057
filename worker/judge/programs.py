"""The judge's side of a boxed process that runs one program, the task's or a piece's
(decompose/serve.py). Every answer is read as hostile bytes; tensors are kept as bytes with the
layout that they had, so that the next program computes exactly as in one process."""

from collections.abc import Generator
from dataclasses import dataclass

import torch
from judge import answers, feedback
from judge.reasons import Finding
from judge.region import HostRegion, Layout
from judge.steps import Ask, Forged, Fork, Gone, NoChild
from shared import inputs, limits
from shared.program import ITEM

ZYGOTE = "+decompose"
START_MS = 60_000
CALL_MS = 60_000  # as a reference has
PROPOSAL_BYTES = 32 << 20
ROOM = 2 << 30  # bytes of the inputs or the output of one call
TENSORS = 4096
FAILED = {"load": "load_failed", "state": "load_failed", "draw": "inputs_failed",
          "call": "forward_failed", "propose": "not_captured"}  # fmt: skip


@dataclass
class Blob:
    """A tensor as bytes in the order of its memory."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    flat: torch.Tensor  # uint8

    @property
    def count(self) -> int:
        return torch.Size(self.shape).numel()

    def tensor(self) -> torch.Tensor:
        return self.flat.view(getattr(torch, self.dtype)).as_strided(self.shape, self.strides)

    def same(self, other: "Blob") -> bool:
        """Bit for bit, in the same layout."""
        mine, its = ((b.shape, b.dtype, b.strides) for b in (self, other))
        return mine == its and torch.equal(self.flat, other.flat)

    def same_values(self, other: "Blob") -> bool:
        """Bit for bit, in whatever layout."""
        if (self.shape, self.dtype) != (other.shape, other.dtype):
            return False
        mine, its = (b.tensor().contiguous().view(-1).view(torch.uint8) for b in (self, other))
        return torch.equal(mine, its)


def start(job: dict) -> Generator:
    memory = job.get("limits", {}).get("memory_bytes", 0)
    yield Fork(ZYGOTE, START_MS, memory)
    try:
        yield Ask({"op": "ping"}, START_MS)
    except Gone as gone:
        said = gone.output.strip()[-2000:] or "no message"
        raise NoChild(f"a boxed process ended before its work began ({gone.why}): {said}") from None


def fail_as_finding(op: str, answer: dict) -> None:
    problem = answers.problem(answer)
    if problem is None:
        if answer.get("ok") is not True:
            raise Forged("an answer that is none")
        return
    lines = feedback.clean(problem.message or problem.text).strip().splitlines()
    said = lines[-1] if lines else "no message"
    if "MemoryError" in problem.kind or any(text in said for text in limits.NO_MEMORY):
        raise Finding("out_of_memory", said)
    raise Finding(FAILED[op], said)


def proposal(message: dict, deadline_ms: int) -> Generator:
    """The bytes of what the process proposes."""
    file = HostRegion(Layout(size=PROPOSAL_BYTES))
    try:
        answer = yield Ask(message | {"bytes": PROPOSAL_BYTES}, deadline_ms, [file.fd])
        fail_as_finding("propose", answer)
        return bytes(file.map[: answers.announced_size(answer, PROPOSAL_BYTES)])
    finally:
        file.close()


class Program:
    """One program in the process that was started last. Methods are generators of steps."""

    def __init__(self, job: dict, source: str) -> None:
        self.job, self.source = job, source
        self.deadline_ms = job.get("deadlines", {}).get("call_ms") or CALL_MS
        self.places: list[int] = []
        self.rest: list = []
        self.calls = 0  # of torch, in the last call that was counted

    def load(self) -> Generator:
        message = {"op": "load", "source": self.source,
                   "init_seed": inputs.derive(self.job["seed"], "init")}  # fmt: skip
        answer = yield Ask(message, self.deadline_ms)
        fail_as_finding("load", answer)
        return [_state(one) for one in _list(answer.get("state"))]

    def read_state(self, state: list[tuple[str, tuple, str]]) -> Generator:
        size = sum(torch.Size(s).numel() * ITEM[d] + 64 for _, s, d in state)
        with _File(size) as file:
            answer = yield Ask({"op": "state", "bytes": file.size}, self.deadline_ms, [file.fd])
            fail_as_finding("state", answer)
            values = taken(answer, file)
        if len(values) != len(state):
            raise Forged("a state of another size")
        return {name: blob for (name, _, _), blob in zip(state, values)}

    def write_state(self, values: dict[str, Blob]) -> Generator:
        if not values:
            return
        with _File(_blob_bytes(list(values.values()))) as file:
            specs = put_blobs(list(values.values()), file)
            message = {"op": "state", "names": list(values), "tensors": specs, "bytes": file.size}
            answer = yield Ask(message, self.deadline_ms, [file.fd])
            fail_as_finding("state", answer)

    def draw(self, seed: int) -> Generator:
        with _File(ROOM) as file:
            message = {"op": "draw", "seed": seed, "bytes": ROOM}
            answer = yield Ask(message, self.deadline_ms, [file.fd])
            fail_as_finding("draw", answer)
            values = taken(answer, file)
        places, rest = _list(answer.get("places")), _list(answer.get("rest"))
        if len(places) != len(values) or not all(type(i) is int for i in places):
            raise Forged("places of inputs that are none")
        self.places, self.rest = places, rest
        return values

    def call(self, args: list[Blob], seed: int = 0, wide: bool = False, fresh: bool = True,
             count: bool = False) -> Generator:  # fmt: skip
        with _File(_blob_bytes(args)) as given, _File(ROOM) as made:
            message = {"op": "call", "tensors": put_blobs(args, given), "in_bytes": given.size,
                       "places": self.places, "rest": self.rest, "bytes": ROOM, "seed": seed,
                       "wide": wide, "fresh": fresh, "count": count}  # fmt: skip
            answer = yield Ask(message, self.deadline_ms, [given.fd, made.fd])
            fail_as_finding("call", answer)
            values = taken(answer, made)
        if len(values) != 1:
            raise Forged("not one output")
        if count:
            ops = answer.get("ops")
            if not isinstance(ops, dict) or not all(type(n) is int for n in ops.values()):
                raise Forged("calls that are none")
            self.calls = sum(ops.values())
        return values[0]


class _File(HostRegion):
    """Memory that is filled on one side and read on the other."""

    def __init__(self, size: int) -> None:
        super().__init__(Layout(size=max(size, 64)))

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _blob_bytes(blobs: list[Blob]) -> int:
    return sum(b.flat.numel() + 64 for b in blobs)


def put_blobs(blobs: list[Blob], file: _File) -> list:
    specs, at = [], 0
    for b in blobs:
        file.bytes[at : at + b.flat.numel()] = b.flat
        specs.append([list(b.shape), b.dtype, list(b.strides), at])
        at += -(-b.flat.numel() // 64) * 64
    return specs


def taken(answer: dict, file: _File) -> list[Blob]:
    """Private copies of the tensors that an answer names."""
    return [_blob(one, file) for one in _list(answer.get("tensors"))]


def _blob(raw: object, file: _File) -> Blob:
    shape, dtype, strides, at = _list(raw, 4)
    shape, strides = _read_sizes(shape), _read_sizes(strides)
    if not isinstance(dtype, str) or dtype not in ITEM:
        raise Forged("a dtype that is none")
    size = torch.Size(shape).numel() * ITEM[dtype]
    if type(at) is not int or at < 0 or size > file.size or at + size > file.size:
        raise Forged("a tensor outside its memory")
    if size and not _dense(shape, strides):
        raise Forged("strides with holes")
    return Blob(shape, dtype, strides, file.span(at, size).clone())


def _dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for stride, n in sorted(zip(strides, shape)):
        if n > 1 and stride != expected:
            return False
        expected *= n
    return len(shape) == len(strides)


def _read_sizes(value: object) -> tuple[int, ...]:
    found = _list(value)
    if len(found) > 64 or not all(type(n) is int and 0 <= n < 1 << 40 for n in found):
        raise Forged("sizes that are none")
    return tuple(found)


def _state(raw: object) -> tuple[str, tuple[int, ...], str]:
    name, shape, dtype = _list(raw, 3)
    if not isinstance(name, str) or not isinstance(dtype, str) or dtype not in ITEM:
        raise Forged("a state that is none")
    return name[:200], _read_sizes(shape), dtype


def _list(value: object, length: int | None = None) -> list:
    if not isinstance(value, list) or len(value) > TENSORS or length not in (None, len(value)):
        raise Forged("a list that is none")
    return value
