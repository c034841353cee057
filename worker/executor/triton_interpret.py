"""Runs the calls of a trace on the CPU: kernels in Triton's interpreter, moves with torch,
everything in the judge's region. It has data, and no line of the candidate's but kernels that
passed the check of the language.

The interpreter is Python's own, so what a kernel means is kept to what the compiler makes of
it: no tensor turns into a Python number, truth or text except where the language says so (`if`,
`while`, `range`); arguments have the types that the compiler gives them; every access lies
in the buffer of the tensor that its pointer comes from."""

import ast
import builtins
import collections
import dataclasses
import functools
import mmap
import math
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import torch
import triton.language as tl
from shared import kernel_language
from shared.adapter import NotOnThisDevice, RuleError
from shared.kernel_names import NAMES
from shared.triton_common import Denied, Kernels, check_constant, define, dtype, no_launch
from triton.runtime import interpreter as it
from triton.runtime.interpreter import InterpretedFunction, TensorHandle
from triton.tools.tensor_descriptor import TensorDescriptor

# Bytes that a launch may keep of what its programs stored, and of what those that wait were answered.
HIDDEN_BYTES = 256 << 20
HIDES = 0.75  # the share of programs whose stores others see late
SPINS = 32  # atomics in a row that are answered alike, after which a program waits for others
ADDRESS_BITS = 48  # that addresses of processes have; a pointer has a tag above them
# Of the processor time of a call: what one operation may take of it, and what may have passed when
# a program begins.
ONE_OPERATION, ALL_PROGRAMS = 0.5, 0.9
_OWN = ("__index__", "__bool__", "__repr__", "__str__")  # that the interpreter gives tensors
_TYPES = {
    "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64, "u1": tl.int1,
    "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64, "fp16": tl.float16,
    "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64,
}  # fmt: skip


class OutOfBounds(RuleError):
    """A kernel reads or writes outside the tensors it was given."""

    rule = "guard-zone"


# ---- once in a process ---------------------------------------------------------------


def prepare() -> None:
    """Makes the language the interpreter's, for good: the process serves one candidate."""
    tensor = tl.core.tensor
    before = {name: tensor.__dict__.get(name) for name in _OWN}
    namespace = {"tl": tl, "core": tl.core}
    it._patch_lang(types.FunctionType((lambda: None).__code__, namespace))
    for name, old in before.items():
        if old is None:
            delattr(tensor, name)
        else:
            setattr(tensor, name, old)
    for module in (tl, tl.core):
        module.range = _range
        module.static_range = _static_range
        module.static_print = module.device_print = _ignored
    InterpretedFunction.__call__ = _call_device_function
    InterpretedFunction.__getitem__ = no_launch
    it._interpreter = _Guarded(it._interpreter)
    it._get_np_dtype = _remembered(it._get_np_dtype)  # it makes a table of all at each call
    it.ReduceOps.generic_reduce, it.ScanOps.generic_scan = _reduced, _scanned
    np.seterr(all="ignore")  # a GPU says nothing of an overflow
    _say_what_is_missing()
    builder = it.InterpreterBuilder
    builder.create_masked_load, builder.create_gather = _loaded, _gathered
    for name in ("create_shl", "create_lshr", "create_ashr"):
        setattr(builder, name, _shift(getattr(builder, name)))


def warm_up_interpreter(source: str, spec: dict) -> None:
    """Runs a kernel of (pointer, count, block) once: the interpreter reads its library when
    it is first used."""
    region = mmap.mmap(-1, 4096)
    node = {"op": "launch", "kernel": 0, "grid": [1],
            "args": {"p": {"t": [0, "float32", 0, [64], [1]]}, "n": 64, "B": 64}}  # fmt: skip
    part = {"buffers": [[0, 256]], "nodes": [node]}
    Interpreter({"source": source, "kernels": [spec], "parts": [part]}, region).run(0)


def _call_device_function(self: InterpretedFunction, *args: Any, **kwargs: Any) -> Any:
    """A device function: the language stays as it is."""
    return self.rewrite()(*args, **kwargs)


def _ignored(*_: Any, **__: Any) -> None:
    return None


def _remembered(function: Any) -> Any:
    """A function of a type, called once for each."""
    found: dict[str, Any] = {}

    def remembered(kind: tl.dtype) -> Any:
        if kind.name not in found:
            found[kind.name] = function(kind)
        return found[kind.name]

    return remembered


# ---- what only a GPU can do ----------------------------------------------------------


def absent(what: str) -> NoReturn:
    """Raised for what a right kernel may ask for, and this interpreter cannot give."""
    raise NotOnThisDevice(f"{_place()} {what}")


def _place() -> str:
    """Of the line that runs."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith("<kernel "):
        frame = frame.f_back
    return f"line {frame.f_lineno} of the kernel {frame.f_code.co_name}" if frame else "a kernel"


def _no_address(*_: Any) -> NoReturn:
    """The compiler's check (triton_compiler.py), with the line."""
    raise Denied(f"{_place()} makes an integer of a pointer, or a pointer of an integer: where tensors "
                 "lie is nothing that a kernel may compute with")  # fmt: skip


def lacks(name: str) -> Callable:
    """In place of a function of the language."""
    return lambda *_, **__: absent(f"calls {name}, which Triton's interpreter does not have")


def _say_what_is_missing() -> None:
    """The interpreter's own exceptions for it look like the candidate's."""
    builder = it.InterpreterBuilder
    builder.create_inline_asm = lacks("inline assembly")
    builder.create_extern_elementwise = lacks("a function of a library")
    builder.create_ptr_to_int = builder.create_int_to_ptr = _no_address

    def missing(_: Any, name: str) -> Any:
        if name.startswith(("create_", "new_")):
            return lacks(f"something that the compiler does ({name})")
        raise AttributeError(name)

    builder.__getattr__ = missing
    for name in NAMES["tl.extra.cuda"].functions:
        setattr(tl.extra.cuda, name, lacks(f"tl.extra.cuda.{name}"))
    it.ReduceScanOpInterface.to_tensor = _in_time(it.ReduceScanOpInterface.to_tensor)


class _Clock:
    """Processor time. A kernel that a GPU runs in no time may take the interpreter too long; one
    that hangs in a loop must not look like that, so only what is known to end is looked at."""

    seconds = math.inf  # that a call may take
    began = 0.0

    def start(self, seconds: float) -> None:
        self.seconds, self.began = seconds, time.process_time()

    def passed(self) -> float:
        """The share of it that has been taken."""
        return (time.process_time() - self.began) / self.seconds

    def check(self, kernel: str, count: int) -> None:
        """Before each program: those before it have ended."""
        if self.passed() > ALL_PROGRAMS:
            raise NotOnThisDevice(f"Triton's interpreter, which runs the {count} programs of the kernel "
                                  f"{kernel} one after the other, takes longer than a call may")  # fmt: skip


_clock = _Clock()


def _in_time(step: Callable) -> Callable:
    """What one reduction or scan by a function of the kernel's own does for each element."""

    def in_time(self: Any, *args: Any, **kwargs: Any) -> Any:
        began = self.__dict__.setdefault("began", time.process_time())
        if time.process_time() - began > ONE_OPERATION * _clock.seconds:
            absent("reduces or scans so large a tile with a function of its own that Triton's "
                   "interpreter, which calls it for each element, takes longer than a call may")  # fmt: skip
        return step(self, *args, **kwargs)

    return in_time


# ---- reductions and scans by a function of the kernel's own ---------------------------
# The interpreter combines from left to right. A GPU does it in trees: of a scan those of the layout,
# of a reduction such ones that also mix the order (its registers first, then lanes 16 apart). So
# both have another tree each time, and that of a reduction other neighbours.

_chance = np.random.default_rng(0)  # of the call's trees


def _reduced(self: it.ReduceOps, input: tuple) -> list:
    axis = self.axis
    data = [_along(a.handle.data.reshape(-1) if axis is None else a.handle.data, axis) for a in input]
    while (count := len(data[0])) > 1:
        pairs = int(_chance.integers(max(1, count // 4), count // 2, endpoint=True))
        order = _chance.permutation(count)
        left, right, rest = (order[:pairs], order[pairs : 2 * pairs], order[2 * pairs :])
        made = _joined(self, input, [d[left] for d in data], [d[right] for d in data])
        data = [np.concatenate([m, d[rest]]) for m, d in zip(made, data)]
    found = [d[0] for d in data]
    if self.keep_dims:
        places = axis if axis is not None else tuple(builtins.range(input[0].handle.data.ndim))
        found = [np.expand_dims(f, places) for f in found]
    return [self.to_tensor(f, a.dtype) for f, a in zip(found, input)]


def _scanned(self: it.ScanOps, input: tuple) -> list:
    """A row in which each element stands for itself and some before it becomes one in which it
    stands for more, with the help of one for fewer."""
    data = [_along(a.handle.data, self.axis) for a in input]
    count, rows = len(data[0]), [(1, data)]
    while rows[-1][0] < count:
        some = rows[max(-3, -len(rows)) + int(_chance.integers(min(3, len(rows))))]
        (before, left), (own, right) = (rows[-1], some)[:: 1 if _chance.integers(2) else -1]
        made = _joined(self, input, [d[:-own] for d in left], [d[own:] for d in right])
        rows.append((before + own, [np.concatenate([d[:own], m]) for d, m in zip(right, made)]))
    return [self.to_tensor(np.moveaxis(d, 0, self.axis), a.dtype) for d, a in zip(rows[-1][1], input)]


def _along(data: np.ndarray, axis: int | None) -> np.ndarray:
    return np.moveaxis(data, axis or 0, 0)


def _joined(self: it.ReduceScanOpInterface, input: tuple, left: list, right: list) -> list:
    """What the function makes of two arrays of each input: of all elements at once, or one by one
    where it decides by their values what it does."""
    shape, count = left[0].shape, left[0].size
    flat = [d.reshape(-1) for d in (*left, *right)]
    try:
        size = 1 << (count - 1).bit_length()  # as a tile may have
        made = _called(self, input, [np.pad(d, (0, size - count), "edge") for d in flat], size)
    except _Undecided:
        each = [_called(self, input, [d[i : i + 1] for d in flat], 1) for i in builtins.range(count)]
        made = [np.concatenate(parts) for parts in zip(*each)]
    return [m[:count].reshape(shape) for m in made]


def _called(self: it.ReduceScanOpInterface, input: tuple, given: list, size: int) -> list:
    kinds = [a.dtype for a in (*input, *input)]
    found = self.combine_fn.fn(*(self.to_tensor(d if size > 1 else d[0], k) for d, k in zip(given, kinds)))
    parts = [_constant(f) for f in (found if isinstance(found, tuple) else (found,))]
    made = [p.handle.data if isinstance(p, tl.core.tensor) else p for p in parts]
    return [np.broadcast_to(m, size).astype(d.dtype) for m, d in zip(made, given)]


# ---- what the language leaves undefined -----------------------------------------------
# The interpreter has zeros there, or what NumPy does. In all trials but the first two such values are
# random, and large: in a sum with others they show.


class _Undefined:
    words, at = np.zeros(1 << 14, np.uint16), 0

    def start(self, chance: np.random.Generator | None) -> None:
        """A call begins. The values are of either sign, as floats near 1e11, as halves near 50."""
        words = chance.integers(1 << 16, size=len(self.words)) & 0x80FF | 0x5200 if chance else 0 * self.words
        self.words = words.astype(np.uint16)

    def values(self, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
        count = math.prod(shape)
        size = -(-count * kind.itemsize // 8) * 4
        self.at = (self.at + size + 4) % len(self.words)  # others than last time
        found = self.words[self.at : self.at + size]
        if len(found) < size:
            found = np.resize(np.roll(self.words, -self.at), size)
        return (found.view(np.uint8) & 1 if kind == np.bool_ else found).view(kind)[:count].reshape(shape)

    def where(self, undefined: np.ndarray, data: np.ndarray) -> np.ndarray:
        return np.where(undefined, self.values(data.shape, data.dtype), data) if undefined.any() else data


_undefined = _Undefined()


def _loaded(self: Any, pointers: TensorHandle, mask: Any, other: Any, *_: Any, **__: Any) -> TensorHandle:
    kind = pointers.get_element_ty()
    held = it._get_np_dtype(kind)
    rest = _undefined.values(pointers.data.shape, held) if other is None else other.data
    return TensorHandle(it._interpreter.load(pointers.data, mask.data, rest, held), kind)


def _gathered(self: Any, source: TensorHandle, indices: TensorHandle, axis: int) -> TensorHandle:
    beyond = (indices.data < 0) | (indices.data >= source.data.shape[axis])
    found = np.take_along_axis(source.data, np.where(beyond, 0, indices.data), axis)
    return TensorHandle(_undefined.where(beyond, found), source.dtype.scalar)


def _shift(step: Callable) -> Callable:
    def shifted(self: Any, number: TensorHandle, by: TensorHandle) -> TensorHandle:
        made = step(self, number, by)
        beyond = (by.data < 0) | (by.data >= 8 * made.data.itemsize)
        made.data = _undefined.where(beyond, made.data)
        return made

    return shifted


# ---- memory --------------------------------------------------------------------------


@dataclasses.dataclass
class _Program:
    """One of a grid, beside others."""

    index: tuple[int, int, int]
    log: list | None = None  # how memory answered to it, in a launch with atomics
    passes: int = 0  # how often it shows its stores to others before it waits once
    spins: int = SPINS


class _Waits(BaseException):
    """The program waits until others have run. An argument says that it may wait for one of them."""


class _Guarded:
    """The interpreter's access to memory, within bounds.

    A pointer's upper bits are a tag of the tensor's buffer, which is new for each call and survives
    arithmetic. So nothing is reached from another tensor's pointer, wherever the two lie.

    Programs of a grid run one after the other here, and a sum that each of them adds to by load and
    store would be right. In a launch that looks for races, others see what a program stores when all
    have run, or at once: the first one's late, and that of each other one by chance, since a kernel
    may be right in one of the two ways alone.

    Programs synchronise by atomics: at an atomic, others see what a program stored before. They need
    not see it earlier, so a program that is about to show its stores waits once, and others run as
    far as they can. Python does not come back into a kernel that it has left. So the program runs
    again from its start, and memory gives the answers that it gave before."""

    spans: dict[int, tuple[int, int]] = {}  # of each tag: where its buffer begins, tag and all, and its size
    lanes: Callable[[int], Any] | None = None  # the order of so many lanes in a store
    program: _Program | None = None  # that runs, if others see its stores late
    own: list = []  # its stores that no other has seen: pointers, values, mask
    before: list = []  # of those of them that lie in memory: pointers, values before, mask
    answers: Iterator = iter(())  # that were given before
    asked: tuple = ()  # its last atomic, the answer, and when that was asked first, in the log
    atomics = False  # whether the launch has any
    room = 0  # bytes that may still be kept

    def __init__(self, real: Any) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def bound(self, buffers: list[tuple[int, int]]) -> list[int]:
        """Address and size of each buffer. Returns their tags."""
        tags = random.Random(int(_chance.integers(1 << 62))).sample(builtins.range(1, 1 << 16), len(buffers))
        self.spans = {tag: (tag << ADDRESS_BITS | at, size) for tag, (at, size) in zip(tags, buffers)}
        return tags

    def place(self, pointers: Any, mask: Any, size: int) -> Any:
        """Where they point to, without tags, once all that are not masked lie in their buffers."""
        at = np.asarray(pointers).astype(np.uint64, copy=False)
        seen = at if mask is None else at[np.broadcast_to(np.asarray(mask, dtype=bool), at.shape)]
        while seen.size:
            start, most = self.spans.get(int(seen.flat[0]) >> ADDRESS_BITS, (0, 0))
            offsets, last = seen - np.uint64(start), most - size
            if int(offsets.max()) <= last:
                break
            if int(offsets.flat[0]) > last:
                raise OutOfBounds("a kernel reads or writes outside the tensors it was given")
            seen = seen[offsets > np.uint64(last)]  # of other tensors
        return at & np.uint64((1 << ADDRESS_BITS) - 1)

    def load(self, pointers: Any, mask: Any, other: Any, kind: Any) -> Any:
        found = next(self.answers, None)
        if found is None:
            pointers = self.place(pointers, mask, np.dtype(kind).itemsize)
            self._use_own()
            found = self.real.load(pointers, mask, other, kind)
            if self.program and self.program.log is not None:
                self.program.log.append(found)
                self.room -= found.nbytes
        return found

    def store(self, pointers: Any, value: Any, mask: Any) -> None:
        pointers = self.place(pointers, mask, np.asarray(value).dtype.itemsize)
        # Where several lanes store to one address, a GPU keeps any of them.
        if self.lanes and not ((flat := pointers.reshape(-1))[1:] > flat[:-1]).all():
            order = self.lanes(flat.size)
            pointers, value, mask = (np.asarray(a).reshape(-1)[order] for a in (pointers, value, mask))
        if self.program is None:
            self.real.store(pointers, value, mask)
        else:
            self.own.append((pointers, value, mask))
            self.asked = ()

    def atomic_rmw(self, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        size = np.asarray(value).dtype.itemsize
        return self._atomic(pointers, mask, size, lambda at: self.real.atomic_rmw(op, at, value, mask, *rest))

    def atomic_cas(self, pointers: Any, old: Any, new: Any, *rest: Any) -> Any:
        size = max(np.asarray(old).dtype.itemsize, np.asarray(new).dtype.itemsize)
        return self._atomic(pointers, None, size, lambda at: self.real.atomic_cas(at, old, new, *rest))

    def begin(self, program: _Program, chance: np.random.Generator) -> None:
        hides = self.atomics or self.room == HIDDEN_BYTES or chance.random() < HIDES
        self.program = program if hides and (self.room > 0 or program.log) else None
        self.own, self.before, self.asked = [], [], ()
        if self.program and self.atomics and program.log is None:
            program.log, program.passes = [], int(chance.exponential(1.4))
        self.answers = iter(tuple(program.log or ()))

    def end(self) -> list:
        """A program ends, or waits. Returns its stores."""
        for pointers, before, mask in self.before[::-1]:
            self.real.store(pointers, before, mask)
        stores, self.own, self.before, self.program, self.answers = self.own, [], [], None, iter(())
        self.room -= sum(pointers.nbytes + value.nbytes for pointers, value, _ in stores)
        return stores

    def _use_own(self) -> None:
        """A program sees what it stored itself."""
        for pointers, value, mask in self.own[len(self.before) :]:
            self.before.append((pointers, self.real.load(pointers, mask, value, value.dtype), mask))
            self.real.store(pointers, value, mask)

    def _atomic(self, pointers: Any, mask: Any, size: int, step: Callable) -> Any:
        found = next(self.answers, None)
        if found is not None:
            self.own.clear()  # others saw it then
            return found
        pointers = self.place(pointers, mask, size)
        program, known, self.atomics = self.program, self.atomics, True
        if program is None:
            return step(pointers)
        if not known:  # until now it needed no log
            program.log = []
            raise _Waits
        if self.own:
            program.passes -= 1
            if program.passes == -1 and self.room > 0:
                raise _Waits
            self._use_own()
            self.own, self.before = [], []
        found = step(pointers)
        program.log.append(found)
        asked = pointers.tobytes(), found.tobytes()
        if asked != self.asked[:2]:
            self.asked = (*asked, len(program.log))
        elif len(program.log) - self.asked[2] >= program.spins:
            del program.log[self.asked[2] :]
            program.spins *= 4  # it may do something else
            raise _Waits("for a lock")
        return found


# ---- what Python's own words mean in a kernel ----------------------------------------


class _Undecided(ValueError):
    pass


def _deciding_number(value: Any) -> Any:
    """A number that decides what runs next: of a tensor of one element, or a constant."""
    value = _constant(value)
    if not isinstance(value, tl.core.tensor):
        return value
    if value.handle.data.size != 1:
        raise _Undecided("a tensor with more than one element cannot decide what runs next")
    return value.handle.data.reshape(-1)[0].item()


def _constant(value: Any) -> Any:
    while isinstance(value, tl.constexpr):
        value = value.value
    return value


def _truth(value: Any) -> bool:
    return bool(_deciding_number(value))


def _assigned(value: Any) -> Any:
    """What a name holds after an assignment: numbers become tensors."""
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(_assigned, value))
    return it.interpreter_semantic.to_tensor(value, False)


def _range(start: Any, stop: Any = None, step: Any = None, **_: Any) -> Iterator[Any]:
    """A loop whose variable is a number at run time."""
    if stop is None:
        start, stop = 0, start
    bounds = [_deciding_number(start), _deciding_number(stop), _deciding_number(1 if step is None else step)]
    if not all(isinstance(b, int) for b in bounds):
        raise TypeError("the bounds of a loop must be integers")
    wide = any(isinstance(b, tl.core.tensor) and b.dtype.primitive_bitwidth == 64
               for b in (start, stop, step)) or any(abs(b) >= 2**31 for b in bounds)  # fmt: skip
    kind = tl.int64 if wide else tl.int32
    for i in builtins.range(*bounds):
        yield _scalar_tensor(i, kind)


def _static_range(start: Any, stop: Any = None, step: Any = None, **_: Any) -> range:
    """A loop that is unrolled: its variable is a constant."""
    start, stop, step = map(_constant, (start, stop, step))
    if stop is None:
        start, stop = 0, start
    return builtins.range(start, stop, 1 if step is None else step)


def _scalar_tensor(value: Any, kind: tl.dtype) -> tl.core.tensor:
    if kind == tl.bfloat16:
        bits = np.array([value], np.float32).view(np.uint32) >> 16  # as a launcher does it
        return tl.core.tensor(TensorHandle(bits.astype(np.uint16), kind), kind)
    return tl.core.tensor(TensorHandle(np.array([value], it._get_np_dtype(kind)), kind), kind)


def _both(first: Any, *rest: Any) -> Any:
    """`and`: constants decide, values at run time are combined."""
    return _combined(first, rest, False, "logical_and")


def _either(first: Any, *rest: Any) -> Any:
    return _combined(first, rest, True, "logical_or")


def _combined(value: Any, rest: tuple, decides: bool, method: str) -> Any:
    found = None
    for later in (*rest, None):
        if not isinstance(_constant(value), tl.core.tensor):
            if bool(_constant(value)) is decides:
                return value
            last = value
        else:
            found = value if found is None else getattr(found, method)(value)
        if later is not None:
            value = later()
    return last if found is None else found


def _not(value: Any) -> Any:
    value = _constant(value)
    if isinstance(value, tl.core.tensor):
        return it.interpreter_semantic.not_(value)
    return not value


def _least(first: Any, *rest: Any) -> Any:
    return _chosen(first, rest, builtins.min, tl.minimum)


def _greatest(first: Any, *rest: Any) -> Any:
    return _chosen(first, rest, builtins.max, tl.maximum)


def _chosen(first: Any, rest: tuple, of_constants: Any, of_tensors: Any) -> Any:
    values = [_constant(v) for v in (first, *rest)]
    if not any(isinstance(v, tl.core.tensor) for v in values):
        return of_constants(*values)
    found = values[0]
    for value in values[1:]:
        found = of_tensors(found, value)
    return found


def _isinstance(value: Any, kinds: Any) -> bool:
    return builtins.isinstance(_constant(value), kinds)


def _value(value: Any) -> Any:
    """`.value` of a constant, which is a plain value here."""
    return value.value if isinstance(value, tl.constexpr) else value


def _checked(condition: Any, message: Any = "") -> None:
    condition = _constant(condition)
    holds = condition.handle.data.all() if isinstance(condition, tl.core.tensor) else condition
    if not holds:
        raise AssertionError(message)


_WORDS = {
    "range": _range, "min": _least, "max": _greatest, "isinstance": _isinstance, "float": float,
    "int": int, "len": len, "__truth": _truth, "__assigned": _assigned, "__both": _both,
    "__either": _either, "__not": _not, "__value": _value, "__checked": _checked,
}  # fmt: skip


class _Rewriter(ast.NodeTransformer):
    """Makes a kernel say these words."""

    def _call(self, node: ast.AST, word: str, *args: ast.expr) -> ast.expr:
        made = ast.Call(ast.Name(word, ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        node.value = self._call(node.value, "__assigned", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        held = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        joined = ast.copy_location(ast.BinOp(held, node.op, node.value), node)
        made = ast.Assign([node.target], self._call(node, "__assigned", joined), None)
        return ast.copy_location(made, node)

    def _visit_test(self, node: Any) -> Any:
        self.generic_visit(node)
        node.test = self._call(node.test, "__truth", node.test)
        return node

    visit_If = visit_While = visit_IfExp = _visit_test

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        none = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[],
                             kwarg=None, defaults=[])  # fmt: skip
        first, *rest = node.values
        word = "__both" if isinstance(node.op, ast.And) else "__either"
        return self._call(node, word, first, *(ast.Lambda(none, value) for value in rest))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self._call(node, "__not", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return self._call(node, "__value", node.value) if node.attr == "value" else node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        args = [node.test] + ([node.msg] if node.msg else [])
        return ast.copy_location(ast.Expr(self._call(node, "__checked", *args)), node)


def _plain_constant(value: Any) -> Any:
    """A constant from outside as a plain value, as constants among arguments are: in Python a
    wrapper on the left of an operator would swallow a tensor."""
    if type(value) is tuple:
        return tuple(map(_plain_constant, value))
    return _constant(value)


def _interpreted(kernel: kernel_language.Kernel, spec: dict, space: dict, file: str) -> Any:
    space.update({name: _plain_constant(value) for name, value in space.items()})
    for word, meaning in _WORDS.items():
        space.setdefault(word, meaning)
    text = kernel.text  # of the tree that is rewritten now
    code = compile(_Rewriter().visit(kernel.tree), file, "exec")
    function = define(text, code, kernel.name, space, file)
    made = InterpretedFunction(function)
    made.rewrite = lambda: function
    made.unspecialized = set(spec["do_not_specialize"])
    return made


# ---- calls ---------------------------------------------------------------------------


class Interpreter:
    """A candidate's calls. `message` has source, kernels and parts: of each part the place
    and size of its buffers, which of them no kernel may change, and its nodes."""

    def __init__(self, message: dict, region: mmap.mmap) -> None:
        self.parts = message["parts"]
        global _chance
        _chance = np.random.default_rng(message.get("seed", 0))
        self.seconds = message.get("call_ms", math.inf) / 1e3
        self.region = torch.frombuffer(region, dtype=torch.uint8)
        self.kernels = Kernels(message["source"], message["kernels"], _interpreted)
        for part in self.parts:
            for node in part["nodes"]:
                if node["op"] == "launch":
                    self.kernels.get(node["kernel"])

    def run(self, part: int, config: int = 0, mute: bool = False,
            order: str | int = "forward") -> None:  # fmt: skip
        """`order` of a grid's programs: forward, reversed, or the seed of a random one, in which
        they run side by side, and what the language leaves undefined is random. The lanes of a store
        have that order, too."""
        chance = np.random.default_rng(order) if isinstance(order, int) else None
        _clock.start(self.seconds)
        _undefined.start(chance)
        backwards = (lambda count: slice(None, None, -1)) if order == "reversed" else None
        it._interpreter.lanes = functools.lru_cache(16)(chance.permutation) if chance else backwards
        buffers = self.parts[part]["buffers"]
        start = self.region.data_ptr()
        self.tags = it._interpreter.bound([(start + at, size) for at, size in buffers])
        first, self.unknown = None, set()
        for node in self.parts[part]["nodes"]:
            self.used = set()
            try:
                if node["op"] != "launch":
                    self._move(node, buffers)
                elif not mute:
                    self._launch(node, config, buffers, chance or order == "reversed")
            except NotOnThisDevice as problem:
                # What does not depend on this is computed: it may be wrong all the same.
                if _clock.passed() > ONE_OPERATION:
                    raise
                first = first or problem
                it._interpreter.end()
                self.unknown |= self.used - set(self.parts[part].get("left", ()))
        if first:
            first.unknown = sorted(self.unknown)
            raise first

    # ---- moves ----

    def _view(self, raw: list, buffers: list) -> torch.Tensor:
        buffer, name, offset, shape, strides = raw
        self.used.add(buffer)
        at, size = buffers[buffer]
        whole = self.region[at : at + size].view(getattr(torch, name))
        for n, stride in zip(shape, strides):
            offset += (n - 1) * stride if stride < 0 and n else 0
        forward = [abs(s) for s in strides]
        found = whole.as_strided(shape, forward, whole.storage_offset() + offset)
        backwards = [d for d, s in enumerate(strides) if s < 0]
        return found.flip(backwards) if backwards else found

    def _move(self, node: dict, buffers: list) -> None:
        to = self._view(node["to"], buffers)
        source = self._view(node["from"], buffers) if node["op"] == "copy" else None
        self._need_known()
        if source is not None:
            to.copy_(source)
        elif node["op"] == "fill":
            value = node["value"]
            to.fill_(float(value["float"]) if isinstance(value, dict) else value)
        else:
            to.add_(node["value"])

    def _need_known(self) -> None:
        if self.used & self.unknown:
            raise NotOnThisDevice("what this works on is not known")

    # ---- launches ----

    def _launch(self, node: dict, config: int, buffers: list, order: np.random.Generator | bool) -> None:
        kernel = self.kernels.get(node["kernel"])
        if node.get("tuned"):
            node = node["tuned"][min(config, len(node["tuned"]) - 1)] | {"kernel": node["kernel"]}
        args = self._arguments(kernel, node["args"], buffers)
        self._need_known()
        grid = (*node["grid"], 1, 1)[:3]
        asserts = bool(node.get("options", {}).get("debug"))
        builder = it.interpreter_builder
        # Without asserts nothing would hear of an overflow, and looking for it takes longer
        # than all else.
        builder.options = dataclasses.replace(
            builder.options, debug=asserts, sanitize_overflow=asserts
        )
        it.interpreter_builder.set_grid_dim(*grid)
        if isinstance(order, np.random.Generator):
            self._at_once(kernel, args, grid, order)
        else:
            for program in _programs(grid, order):
                self._program(kernel, args, _Program(program))

    def _program(self, kernel: Any, args: dict, program: _Program) -> None:
        if not program.log:  # those before it have ended
            _clock.check(kernel.fn.__name__, math.prod(it.interpreter_builder.grid_dim))
        it.interpreter_builder.set_grid_idx(*program.index)
        try:
            kernel.fn(**args)
        except MemoryError:
            raise NotOnThisDevice(f"the kernel {kernel.fn.__name__} needs more memory in Triton's "
                                  "interpreter than there is") from None  # fmt: skip

    def _at_once(self, kernel: Any, args: dict, grid: tuple, chance: np.random.Generator) -> None:
        """Programs side by side, in a random order."""
        global _chance
        programs = list(_programs(grid, False))  # a grid that is too large for it takes too long anyway
        chance.shuffle(programs)
        waiting = collections.deque(map(_Program, programs))
        memory, later, seed = it._interpreter, [], int(chance.integers(1 << 62))
        memory.room, memory.atomics = HIDDEN_BYTES if len(waiting) > 1 else 0, False
        while waiting:
            if memory.room <= 0 and waiting[0].log is None:
                waiting.reverse()  # those that wait, at its end, come before others that cannot
            program = waiting.popleft()
            memory.begin(program, chance)
            if memory.atomics:  # a program that runs again has the same trees
                _chance = np.random.default_rng([seed, *program.index])
            try:
                self._program(kernel, args, program)
                later += memory.end()
            except _Waits as waits:
                memory.end()
                if waits.args and waiting:
                    waiting.appendleft(waiting.pop())  # who waits since last may have the lock
                waiting.append(program)
        for store in later:
            memory.real.store(*store)

    def _arguments(self, kernel: Any, raw: dict, buffers: list) -> dict[str, Any]:
        kinds = kernel.fn.__annotations__
        found = {}
        for place, name in enumerate(kernel.arg_names):
            if name not in raw:
                continue
            if kinds.get(name) is tl.constexpr:
                check_constant(name, raw[name])
            value = self._argument(raw[name], buffers)
            if kinds.get(name) is tl.constexpr:
                found[name] = value
            else:
                special = not {name, place} & kernel.unspecialized
                found[name] = _passed(value, kinds.get(name), special)
        return found

    def _tagged(self, raw: list, buffers: list, kind: tl.dtype | None = None) -> "_Tensor":
        view = self._view(raw, buffers)
        return _Tensor(kind or view.dtype, self.tags[raw[0]] << ADDRESS_BITS | view.data_ptr())

    def _argument(self, raw: Any, buffers: list) -> Any:
        if not isinstance(raw, dict):
            return raw
        ((kind, content),) = raw.items()
        if kind == "t":
            return self._tagged(content, buffers)
        if kind == "reinterpret":
            return self._tagged(content[0], buffers, dtype(content[1]))
        if kind == "tuple":
            return tuple(self._argument(part, buffers) for part in content)
        if kind == "desc":
            base, shape, strides, block, padding, *_ = content
            return TensorDescriptor(self._tagged(base, buffers), shape, strides, block, padding)
        return self.kernels.value(raw)


@dataclasses.dataclass
class _Tensor:
    """What the interpreter needs of one."""

    dtype: Any
    address: int

    def data_ptr(self) -> int:
        return self.address


def _programs(grid: tuple[int, ...], backwards: bool) -> Iterator[tuple[int, int, int]]:
    """One after the other: a grid may be large."""
    step = -1 if backwards else 1
    for x in builtins.range(grid[0])[::step]:
        for y in builtins.range(grid[1])[::step]:
            for z in builtins.range(grid[2])[::step]:
                yield x, y, z


def _passed(value: Any, annotation: str | None, special: bool) -> Any:
    """An argument with the type that the compiler gives it. A number 1 is a constant there,
    unless it was said that it is not."""
    if isinstance(value, (bool, int, float)):
        if annotation in _TYPES:
            return _scalar_tensor(value, _TYPES[annotation])
        if isinstance(value, bool):
            return _scalar_tensor(value, tl.int1)
        if isinstance(value, float):
            return _scalar_tensor(value, tl.float32)
        if value == 1 and special:
            return value
        small = -(2**31) <= value < 2**31
        return _scalar_tensor(value, tl.int32 if small else tl.uint64 if value >= 2**63 else tl.int64)
    if isinstance(value, tuple):
        return tuple(_passed(part, None, special) for part in value)
    return it._implicit_cvt(value)
