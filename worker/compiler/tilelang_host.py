"""Reads TileLang's own host code, to learn what it would launch.

Lowering makes two functions of a kernel: one for the device, and one for the host that
checks its arguments, computes sizes, makes tensor maps and launches. Here the host's
function is interpreted as IR, with shapes and numbers for arguments and without a device;
what it would launch comes out. So the grid, the order of parameters and the tensor maps
are those that TileLang itself would use."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm import tirx

MOST_STEPS = 100_000  # statements of one launch
MOST_LAUNCHES = 1000
_DEVICE = {"cuda": 2, "c": 1}  # DLPack's numbers
# Fields of a tensor and of an argument, as tirx.tvm_struct_get numbers them.
_DATA, _SHAPE, _STRIDES, _RANK, _OFFSET, _DEVICE_ID, _DEVICE_TYPE = 1, 2, 3, 4, 8, 9, 10
_DTYPE = (5, 6, 7)
_ARGUMENT_TYPE, _ARGUMENT = 13, 15
_INTEGER, _BOOL, _FLOAT, _TENSOR = 1, 2, 3, 7


class HostError(Exception):
    """The host code refuses its arguments, or does what is not supported."""


class Anything:
    """A tensor's dtype, which the recorder has checked: it equals whatever it is compared
    with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


@dataclass(frozen=True)
class TensorArgument:
    """`index` of the kernel's arguments."""

    index: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Address:
    argument: int
    offset: int = 0  # bytes


@dataclass
class Slot:
    """Room on the host's stack, in which a tensor map is made."""

    map: dict | None = None


@dataclass
class Launch:
    function: str
    values: list[Any]  # numbers, Address or Slot; behind the parameters the launch's own


@dataclass
class Host:
    """Interprets `function` for one list of arguments: TensorArgument or numbers."""

    function: tirx.PrimFunc
    arguments: list[Any]
    device: str  # "cuda" or "c"
    launches: list[Launch] = field(default_factory=list)
    steps: int = 0

    def run(self) -> list[Launch]:
        _, args, count, _ = self.function.params
        self.known: dict[tirx.Var, Any] = {args: self, count: len(self.arguments)}
        self.execute(self.function.body)
        return self.launches

    # ---- statements ----

    def execute(self, stmt: Any) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise HostError("the host's part of the kernel does not end")
        kind = type(stmt).__name__
        if kind == "SeqStmt":
            for part in stmt.seq:
                self.execute(part)
        elif kind == "Bind":
            self.known[stmt.var] = self.value(stmt.value)
        elif kind == "AttrStmt":
            self.execute(stmt.body)
        elif kind == "AssertStmt":
            if not self.value(stmt.condition):
                raise HostError("".join(str(p.value) for p in stmt.message_parts))
        elif kind == "Evaluate":
            self.value(stmt.value)
        elif kind == "IfThenElse":
            chosen = stmt.then_case if self.value(stmt.condition) else stmt.else_case
            if chosen is not None:
                self.execute(chosen)
        elif kind == "For":
            first = self.value(stmt.min)
            for i in range(first, first + self.value(stmt.extent)):
                self.known[stmt.loop_var] = i
                self.execute(stmt.body)
        elif kind != "DeclBuffer":
            raise HostError(f"the host's part of the kernel has a {kind}, which is not supported")

    # ---- expressions ----

    def value(self, e: Any) -> Any:
        kind = type(e).__name__
        if kind in ("IntImm", "FloatImm", "StringImm"):
            return e.value
        if kind == "Var" or kind == "SizeVar":
            if e not in self.known:
                raise HostError(f"the host's part of the kernel uses {e.name} before it is known")
            return self.known[e]
        if kind in _BINARY:
            return _BINARY[kind](self.value(e.a), self.value(e.b))
        if kind == "And":
            return self.value(e.a) and self.value(e.b)
        if kind == "Or":
            return self.value(e.a) or self.value(e.b)
        if kind == "Not":
            return not self.value(e.a)
        if kind == "Cast":
            return _cast(self.value(e.value), str(e.dtype))
        if kind == "Select":
            return self.value(e.true_value if self.value(e.condition) else e.false_value)
        if kind == "BufferLoad":
            return self.known[e.buffer.data][self.value(e.indices[0])]
        if kind == "Call":
            return self.call(e)
        raise HostError(f"the host's part of the kernel has a {kind}, which is not supported")

    def call(self, e: Any) -> Any:
        if type(e.op).__name__ == "GlobalVar":
            self.launch(e.op.name_hint, [self.value(a) for a in e.args])
            return 0
        name = e.op.name.removeprefix("tirx.")
        if name == "if_then_else":
            return self.value(e.args[1] if self.value(e.args[0]) else e.args[2])
        if name == "ret":
            return None
        values = [self.value(a) for a in e.args]
        if name == "tvm_struct_get":
            return self.part(*values[:3])
        if name == "tvm_call_packed":
            return self.packed(values[0], values[1:])
        if name not in _CALLS:
            raise HostError(f"the host's part of the kernel calls {name}, which is not supported")
        return _CALLS[name](*values)

    def part(self, held: Any, index: int, what: int) -> Any:
        if held is self:
            found = self.arguments[index]
            if what == _ARGUMENT:
                return found
            if what == _ARGUMENT_TYPE:
                return _type_of(found)
        elif isinstance(held, TensorArgument):
            if what in _DTYPE:
                return Anything()
            known = {_DATA: Address(held.index), _SHAPE: held.shape, _STRIDES: held.strides,
                     _RANK: len(held.shape), _OFFSET: 0, _DEVICE_ID: 0,
                     _DEVICE_TYPE: _DEVICE[self.device]}  # fmt: skip
            if what in known:
                return known[what]
        raise HostError("the host's part of the kernel reads what is not known")

    # ---- what it does ----

    def packed(self, name: str, values: list[Any]) -> Any:
        if name == "__tvm_tensormap_create_tiled":
            values[0].map = _encoded_map(values[1:])
        elif name == "__tvm_tensormap_create_im2col":
            raise HostError("T.c2d_im2col needs a tensor map of the kind im2col, which is not "
                            "supported: load the tile with T.Parallel instead")  # fmt: skip
        elif name not in _HINTS:
            self.launch(name, values)
        return 0

    def launch(self, name: str, values: list[Any]) -> None:
        if len(self.launches) == MOST_LAUNCHES:
            raise HostError(f"more than {MOST_LAUNCHES} launches in one call of a kernel")
        self.launches.append(Launch(name, values))


# Which device, and what to keep in its cache: there is one, and it decides.
_HINTS = {"__tvm_set_device", "__tvm_cuda_stream_set_access_policy_window",
          "__tvm_cuda_stream_reset_access_policy_window"}  # fmt: skip


def _type_of(argument: Any) -> int:
    if isinstance(argument, TensorArgument):
        return _TENSOR
    if isinstance(argument, bool):
        return _BOOL
    return _INTEGER if isinstance(argument, int) else _FLOAT


def _encoded_map(values: list[Any]) -> dict:
    """As cuTensorMapEncodeTiled takes them, innermost dimension first: dtype, rank, address,
    sizes, strides in bytes, box, element strides, interleave, swizzle, L2 promotion, fill."""
    dtype, rank, address, *rest = values
    shape, strides, box, steps = (rest[i * rank : (i + 1) * rank] for i in range(4))
    interleave, swizzle, _, fill = rest[4 * rank :]
    if interleave or any(step != 1 for step in steps):
        raise HostError("a tensor map that interleaves or skips elements is not supported")
    return {"address": address, "dtype": dtype, "shape": shape, "strides": strides[1:], "box": box,
            "swizzle": swizzle, "fill": fill}  # fmt: skip


def _cast(value: Any, dtype: str) -> Any:
    if dtype.startswith("float") or dtype.startswith("bfloat"):
        return float(value)
    if dtype == "bool":
        return bool(value)
    if dtype.startswith(("int", "uint")) and isinstance(value, (bool, int, float)):
        return int(value)
    return value


def _truncated(a: int, b: int) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_BINARY: dict[str, Callable] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": _truncated,
    "FloorDiv": operator.floordiv, "FloorMod": operator.mod, "Min": min, "Max": max,
    "Mod": lambda a, b: a - b * _truncated(a, b), "EQ": operator.eq, "NE": operator.ne,
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
_CALLS: dict[str, Callable] = {
    "isnullptr": lambda value: value is None, "tvm_stack_alloca": lambda *_: Slot(),
    "likely": lambda value: value, "shift_left": operator.lshift, "shift_right": operator.rshift,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "handle_add_byte_offset": lambda a, n: Address(a.argument, a.offset + n),
}  # fmt: skip
