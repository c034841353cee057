"""Writes requests for monkeys-runner and reads its answers.

docs/RUNNER.md is the contract. Programs are written here and read by C. An answer has one layout, and
anything else raises.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

import torch

from shared.program import ITEM, Add, Call, Copy, Fill, Launch, Node, Number, Param, Place, Program
from shared.program import Pointer, Struct, TensorMap

MAGIC = b"mkprog/1"
DTYPES = {name: code for code, name in enumerate(ITEM)}
MODULES = {"cubin": 1, "library": 2}
LOAD, RUN, UNLOAD = 1, 2, 3
MUTE, TIMED, RELOAD = 1, 2, 4

_ANSWER = struct.Struct("<5Q2048s")
ANSWER_BYTES = 4 + _ANSWER.size  # the length in front included
_NO_NODE = 2**64 - 1


class BadAnswer(Exception):
    """The runner sent something that is not an answer."""


class Status(IntEnum):
    DONE = 0
    BAD_REQUEST = 1
    BAD_PROGRAM = 2
    NO_MODULE = 3  # a module does not load
    NO_SYMBOL = 4
    LAUNCH_FAILED = 5
    CONTEXT_BROKEN = 6  # the runner is to be replaced
    NO_MEMORY = 7
    NO_DEVICE = 8  # the machine's fault
    CALL_ENDED = 9  # a library ended its process; the text is `signal N` or `exit N`


@dataclass(frozen=True)
class Done:
    status: Status
    detail: int  # errno or CUresult, or 0
    host_ns: int
    device_ns: int
    node: int | None  # which node of the call failed, where that is known
    text: str


# ---- programs ----


class _Words:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def put(self, *words: int) -> None:
        """Numbers from -2**63 to 2**64 - 1."""
        self.parts.append(b"".join((w & 2**64 - 1).to_bytes(8, "little") for w in words))

    def data(self, data: bytes) -> None:
        self.put(len(data))
        self.parts.append(data + bytes(-len(data) % 8))


def element_bits(value: int | float | bool, dtype: str) -> int:
    """An element as torch stores it. Raises ValueError if the dtype cannot hold the number."""
    try:
        element = torch.full((1,), value, dtype=getattr(torch, dtype))
    except (RuntimeError, OverflowError) as problem:
        raise ValueError(f"{value!r} is no {dtype}: {problem}") from None
    return int.from_bytes(element.view(torch.uint8).numpy().tobytes(), "little")


def _put_place(out: _Words, p: Place) -> None:
    if len(p.shape) != len(p.strides):
        raise ValueError("a place with more sizes than strides, or fewer")
    out.put(p.at, DTYPES[p.dtype], len(p.shape), *p.shape, *p.strides)


def _put_param(out: _Words, p: Param) -> None:
    if isinstance(p, Pointer):
        out.put(1, p.at)
    elif isinstance(p, Number):
        out.put(2, p.size, p.bits & (1 << 8 * p.size) - 1)
    elif isinstance(p, TensorMap):
        if not len(p.shape) == len(p.strides) + 1 == len(p.box):
            raise ValueError("a tensor map whose dimensions do not agree")
        out.put(3, p.at, p.dtype, len(p.shape), *p.shape, *p.strides, *p.box, p.swizzle, p.fill)
    elif isinstance(p, Struct):
        out.put(4)
        out.data(p.data)
        out.put(len(p.patches))
        for offset, patch in p.patches:
            out.put(offset)
            _put_param(out, patch)
    else:
        raise TypeError(f"not a parameter: {p!r}")


def _put_params(out: _Words, params: tuple[Param, ...]) -> None:
    out.put(len(params))
    for p in params:
        _put_param(out, p)


def _put_node(out: _Words, n: Node) -> None:
    if isinstance(n, Copy):
        out.put(1)
        _put_place(out, n.to)
        _put_place(out, n.source)
    elif isinstance(n, Fill):
        out.put(2)
        _put_place(out, n.to)
        out.put(element_bits(n.value, n.to.dtype))
    elif isinstance(n, Add):
        out.put(3)
        _put_place(out, n.to)
        out.put(n.value)
    elif isinstance(n, Launch):
        flags = n.cooperative | n.pdl << 1
        out.put(4, n.function, *n.grid, *n.block, n.shared, *n.cluster, flags)
        _put_params(out, n.params)
    elif isinstance(n, Call):
        out.put(5, n.function)
        _put_params(out, n.params)
        out.put(len(n.seen))
        for begin, end in n.seen:
            out.put(begin, end)
    else:
        raise TypeError(f"not a node: {n!r}")


def encode(program: Program) -> bytes:
    """Encodes the program for monkeys-runner, which checks that it lies in its region."""
    out = _Words()
    out.parts.append(MAGIC)
    out.put(len(program.modules))
    for module in program.modules:
        out.put(MODULES[module.kind])
        out.data(module.data)
    out.put(len(program.functions))
    for function in program.functions:
        out.put(function.module)
        out.data(function.name.encode())
    out.put(len(program.calls))
    for call in program.calls:
        out.put(len(call))
        for node in call:
            _put_node(out, node)
    return b"".join(out.parts)


# ---- requests and answers ----


def _words_of_request(*words: int) -> bytes:
    return struct.pack(f"<I{len(words)}Q", 8 * len(words), *words)


def load_request(program_bytes: int, region_bytes: int) -> bytes:
    """Send it with two descriptors: the program's and the region's."""
    return _words_of_request(LOAD, program_bytes, region_bytes)


def run_request(call: int, mute: bool = False, timed: bool = False, reload: bool = True) -> bytes:
    return _words_of_request(RUN, call, mute * MUTE | timed * TIMED | reload * RELOAD)


def unload_request() -> bytes:
    return _words_of_request(UNLOAD)


def parse_answer(data: bytes | bytearray) -> Done:
    """Parses one complete answer, which starts with its length."""
    if len(data) != ANSWER_BYTES or int.from_bytes(data[:4], "little") != _ANSWER.size:
        raise BadAnswer(f"an answer of {len(data)} bytes")
    status, detail, host_ns, device_ns, node, text = _ANSWER.unpack_from(data, 4)
    try:
        known = Status(status)
    except ValueError:
        raise BadAnswer(f"an unknown status, {status}") from None
    words = text.split(b"\0", 1)[0].decode("utf-8", "replace")
    return Done(known, detail, host_ns, device_ns, None if node == _NO_NODE else node, words)
