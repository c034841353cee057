"""As much of PTX as our kernel of moves uses, executed: threads one after the other,
registers as bits. It shows what the text means where there is no GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy
import torch

_FLOATS = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b, "min": min, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "shl": lambda a, b: a << b, "shr": lambda a, b: a >> b,
}  # fmt: skip


def width(kind: str) -> int:
    return int(kind.strip("bfsu"))


def number(bits: int, kind: str) -> int:
    """The integer that `bits` are as such a type."""
    bits &= (1 << width(kind)) - 1
    return bits - (1 << width(kind)) if kind[0] == "s" and bits >> width(kind) - 1 else bits


def real(bits: int, kind: str) -> numpy.floating:
    size = width(kind) // 8
    return numpy.frombuffer((bits & (1 << 8 * size) - 1).to_bytes(size, "little"), _FLOATS[kind])[0]


def bits_of(value: numpy.floating) -> int:
    return int.from_bytes(value.tobytes(), "little")


def convert(to: str, source: str, bits: int) -> int:
    with numpy.errstate(all="ignore"):
        if source in _FLOATS:
            value = real(bits, source)
            if to == "bf16":
                wide = torch.tensor([float(value)], dtype=torch.float32)
                return int(wide.to(torch.bfloat16).view(torch.uint16).item())
            return bits_of(_FLOATS[to](value))
        value = number(bits, source)
        if to not in _FLOATS:
            return value
        wide = numpy.int64(value) if source[0] == "s" else numpy.uint64(value)
        return bits_of(wide.astype(_FLOATS[to]))


@dataclass
class Kernel:
    """A text, ready to be run over `memory`, whose first byte has the address `base`."""

    text: str
    memory: bytearray
    base: int
    code: list[tuple[str, list[str]]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        body = self.text[self.text.index("{") + 1 : self.text.rindex("}")]
        for statement in re.split(r"[;\n]+", body):
            self._add(statement.strip())

    def _add(self, s: str) -> None:
        while match := re.match(r"(\w+):\s*", s):
            s = s[match.end() :]
            if s.startswith(".branchtargets"):
                self.tables[match[1]] = s.removeprefix(".branchtargets").replace(" ", "").split(",")
                return
            self.labels[match[1]] = len(self.code)
        if match := re.match(r"\.reg \.(\w+) (.*)", s):
            for name in match[2].replace(" ", "").split(","):
                self.widths[name] = 1 if match[1] == "pred" else width(match[1])
        elif s:
            head, *rest = re.split(r"\s+(?![^\[]*\])", s.replace(",", " "))
            if head.startswith("@"):
                self.code.append((rest[0], [*rest[1:], head[1:]]))
            else:
                self.code.append((head, [*rest, ""]))

    def run(self, params: bytes, threads: int, blocks: int) -> None:
        for b in range(blocks):
            for t in range(threads):
                special = {"%ctaid.x": b, "%ntid.x": threads, "%tid.x": t, "%nctaid.x": blocks}
                self._thread(params, special)

    def _thread(self, params: bytes, special: dict[str, int]) -> None:
        regs: dict[str, int] = {name: 0xDEAD for name in self.widths}
        at = 0
        while True:
            op, (*args, guard) = self.code[at]
            at += 1
            if guard and bool(regs[guard.lstrip("!")]) == guard.startswith("!"):
                continue
            if op == "ret":
                return
            if op == "bra":
                at = self.labels[args[0]]
            elif op == "brx.idx":
                at = self.labels[self.tables[args[1]][regs[args[0]]]]
            else:
                self._step(op.split("."), args, regs, params, special)

    def _value(self, arg: str, regs: dict[str, int], special: dict[str, int]) -> int:
        if arg in special:
            return special[arg]
        if arg == "p":
            return 0  # parameters have addresses of their own
        if arg.startswith("0f"):
            return int(arg[2:], 16)
        return regs[arg] if arg.startswith("%") else int(arg, 0)

    def _address(self, arg: str, regs: dict[str, int]) -> int:
        name, _, offset = arg.strip("[]").partition("+")
        return (0 if name == "p" else regs[name]) + int(offset or 0)

    def _step(
        self, op: list[str], args: list[str], regs: dict[str, int], params: bytes, special: dict[str, int]
    ) -> None:
        kind, size = op[-1], 0 if op[-1] == "pred" else width(op[-1]) // 8
        if op[0] == "st":
            at = self._address(args[0], regs) - self.base
            assert 0 <= at <= len(self.memory) - size and at % size == 0
            self.memory[at : at + size] = (regs[args[1]] & (1 << 8 * size) - 1).to_bytes(size, "little")
            return
        if op[0] == "ld":
            at = self._address(args[1], regs) - (0 if op[1] == "param" else self.base)
            held: bytes | bytearray = params if op[1] == "param" else self.memory
            assert 0 <= at <= len(held) - size and at % size == 0
            result = number(int.from_bytes(held[at : at + size], "little"), kind)
        else:
            given = [self._value(a, regs, special) for a in args[1:]]
            result = self._compute(op, kind, given)
        regs[args[0]] = result & (1 << self.widths[args[0]]) - 1

    def _compute(self, op: list[str], kind: str, given: list[int]) -> int:
        if op[0] in ("mov", "cvta"):
            return given[0]
        if op[0] == "cvt":
            return convert(op[-2], kind, given[0])
        if kind == "pred":
            return not given[0] if op[0] == "not" else given[0] | given[1]
        if kind in _FLOATS:
            a, b = (real(g, kind) for g in given)
            with numpy.errstate(all="ignore"):
                return bits_of(a + b if op[0] == "add" else a * b)
        shift = op[0] in ("shl", "shr")
        numbers = [number(g, "u32" if shift and i else kind) for i, g in enumerate(given)]
        if op[0] == "setp":
            return _COMPARE[op[1]](*numbers)
        if op[0] == "mad":
            return numbers[0] * numbers[1] + numbers[2]
        return _ARITHMETIC[op[0]](*numbers)
