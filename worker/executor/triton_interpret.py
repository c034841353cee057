"""Runs the calls of a trace on the CPU: kernels in Triton's interpreter, moves with torch,
everything in the judge's region. It has data, and no line of the candidate's but kernels that
passed the check of the language.

The interpreter is Python's own, so what a kernel means is kept to what the compiler makes of
it: no tensor turns into a Python number, truth or text except where the language says so (`if`,
`while`, `range`); arguments have the types that the compiler gives them; every access lies
in the buffer of the tensor that its pointer comes from."""

import ast
import builtins
import dataclasses
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

# Bytes of stores that a launch may keep from its other programs.
HIDDEN_BYTES = 256 << 20
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
    _say_what_is_missing()


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


# ---- memory --------------------------------------------------------------------------


class _Guarded:
    """The interpreter's access to memory, within bounds.

    A pointer's upper bits are a tag of the tensor's buffer, which is new for each call and survives
    arithmetic. So nothing is reached from another tensor's pointer, wherever the two lie.

    Programs of a grid run one after the other here, and a sum that each of them adds to by load and
    store would be right. In a launch that looks for races, a program's stores are taken back when
    it ends, and come when all have ended: none sees what others store, as if all ran at once.
    Programs synchronise by atomics; what one does from its first atomic on is seen as it
    happens."""

    spans: dict[int, tuple[int, int]] = {}  # of each tag: where its buffer begins, tag and all, and its size
    hidden: list | None = None  # stores of the running program: pointers, before, after, mask
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
        return self.real.load(self.place(pointers, mask, np.dtype(kind).itemsize), mask, other, kind)

    def store(self, pointers: Any, value: Any, mask: Any) -> Any:
        pointers = self.place(pointers, mask, np.asarray(value).dtype.itemsize)
        if self.hidden is not None:
            after = np.array(value)
            before = self.real.load(pointers, mask, np.zeros_like(after), after.dtype)
            self.hidden.append((pointers, before, after, mask))
            self.room -= 2 * after.nbytes + pointers.nbytes
        return self.real.store(pointers, value, mask)

    def hide(self) -> None:
        """A program begins."""
        self.hidden = [] if self.room > 0 else None

    def take_back(self) -> list:
        """It has ended. Returns its stores for later."""
        stores, self.hidden = self.hidden or [], None
        for pointers, before, _, mask in stores[::-1]:
            self.real.store(pointers, before, mask)
        return [(pointers, after, mask) for pointers, _, after, mask in stores]

    def atomic_rmw(self, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        pointers = self.place(pointers, mask, np.asarray(value).dtype.itemsize)
        self.hidden = None
        return self.real.atomic_rmw(op, pointers, value, mask, *rest)

    def atomic_cas(self, pointers: Any, old: Any, new: Any, *rest: Any) -> Any:
        size = max(np.asarray(old).dtype.itemsize, np.asarray(new).dtype.itemsize)
        pointers, self.hidden = self.place(pointers, None, size), None
        return self.real.atomic_cas(pointers, old, new, *rest)


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
        launches look for races, too."""
        chance = random.Random(order) if isinstance(order, int) else None
        _clock.start(self.seconds)
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
                first, it._interpreter.hidden = first or problem, None
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

    def _launch(self, node: dict, config: int, buffers: list, order: random.Random | bool) -> None:
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
        if isinstance(order, random.Random):
            self._at_once(kernel, args, _shuffled(grid, order), grid)
            return
        for program in _programs(grid, order):
            self._program(kernel, args, program, grid)

    def _program(self, kernel: Any, args: dict, program: tuple, grid: tuple) -> None:
        _clock.check(kernel.fn.__name__, math.prod(grid))
        it.interpreter_builder.set_grid_idx(*program)
        try:
            kernel.fn(**args)
        except MemoryError:
            raise NotOnThisDevice(f"the kernel {kernel.fn.__name__} needs more memory in Triton's "
                                  "interpreter than there is") from None  # fmt: skip

    def _at_once(self, kernel: Any, args: dict, programs: list[tuple[int, int, int]], grid: tuple) -> None:
        """Programs that do not see each other's stores."""
        memory, later = it._interpreter, []
        memory.room = HIDDEN_BYTES if len(programs) > 1 else 0
        for program in programs:
            memory.hide()
            self._program(kernel, args, program, grid)
            later += memory.take_back()
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


def _shuffled(grid: tuple[int, ...], chance: random.Random) -> list[tuple[int, int, int]]:
    """In another order. A grid that is too large for a list takes too long for other trials."""
    programs = list(_programs(grid, False))
    chance.shuffle(programs)
    return programs


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
