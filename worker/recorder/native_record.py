"""native_record.py: what `build(source)` of a pack's helper returns while a candidate
is recorded: nothing is compiled or loaded, and a call becomes a node of the trace.

Each argument is checked against the C parameter it is for, because a wrong pointer
would not raise later but crash, or worse, compute. Nothing comes back from a call: the
recorder has no data, so a number that a kernel computes cannot reach Python.
"""
from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, Callable

from shared import native, native_source
from shared.native import BuildError, Toolchain
from shared.native_source import CType, Function, Parameter
from shared.program import BLOCK, GRID, SHARED_BYTES, THREADS

_NAMES = {"cpu": "the CPU", "cuda": "cuda"}
_CODES = {"bool8": "?", "float32": "f", "float64": "d"} | {
    f"{kind}{bits}": code
    for kind, codes in (("int", "bhiq"), ("uint", "BHIQ"))
    for bits, code in zip((8, 16, 32, 64), codes)
}

_current: Callable[[], Any] = lambda: None  # the recorder, while forward runs


def install_native(current: Callable[[], Any]) -> None:
    """Calls go to the recorder that `current` returns."""
    global _current
    _current = current


def library(source: str, toolchain: Toolchain, device: str) -> Library:
    """For host functions: `lib.relu_kernel(x, y, n)`."""
    return Library(source, toolchain, device, Call)


def kernels(source: str, toolchain: Toolchain) -> Library:
    """For kernels: `kernels.relu_kernel[grid, block](x, y, n)`."""
    return Library(source, toolchain, "cuda", _Kernel)


class Library:
    """The functions of a source, as attributes."""

    def __init__(self, source: str, toolchain: Toolchain, device: str, entry: Callable) -> None:
        self._source = native.check_source(source)
        self._toolchain = toolchain
        self._device = device
        self._entry = entry
        own = native.preprocess(source, toolchain)
        self._functions = native_source.functions(own, toolchain.language)
        if not self._functions:
            native.check_syntax(source, toolchain)
            raise BuildError(
                f"{toolchain.source_name}: no function that can be called is defined "
                f"({toolchain.language.callable_note})"
            )

    def __getattr__(self, name: str) -> Any:
        functions = self.__dict__.get("_functions", {})
        if name.startswith("__") or not functions:
            raise AttributeError(name)
        if name not in functions:
            # Where a brace is missing, functions are missing, too.
            native.check_syntax(self._source, self._toolchain)
            raise AttributeError(
                f"the source defines no callable function {name!r}; callable: "
                f"{', '.join(functions)} ({self._toolchain.language.callable_note})"
            )
        if functions[name].problem:
            native.check_syntax(self._source, self._toolchain)
        _check_callable(functions[name])
        entry = self._entry(self._source, functions[name], self._device)
        setattr(self, name, entry)
        return entry

    def __dir__(self) -> list[str]:
        return list(self._functions)


def _check_callable(function: Function) -> None:
    if function.problem:
        raise TypeError(
            f"{function.name} {function.problem}, so its name does not say what to launch; make "
            "it a __device__ function, and call it from a kernel with a name of its own for each "
            "type or size"
        )
    for p in function.parameters:
        if p.type is None:
            raise TypeError(
                f"{function.name}() parameter {p.name!r}: the type of {p.text!r} cannot be "
                "passed from Python; use a pointer to numbers, an integer, a float or a bool"
            )


def _native_recorder(name: str) -> Any:
    recorder = _current()
    if recorder is None:
        raise RuntimeError(
            f"{name}() is called outside ModelNew.forward, where nothing is computed; call it in "
            "forward"
        )
    return recorder


# ---- host functions ------------------------------------------------------------


class Call:
    """A host function."""

    def __init__(self, source: str, function: Function, device: str) -> None:
        self._source = source
        self._function = function
        self._device = device
        self.__name__ = self.__qualname__ = function.name
        self.__doc__ = function.signature

    def __call__(self, *arguments: Any) -> NoResult | None:
        function = self._function
        recorder = _native_recorder(function.name)
        args = _arguments(recorder, function, arguments, self._device)
        text = recorder.text(self._source)
        recorder.launch({"op": "call", "text": text, "function": function.name, "args": args})
        # On a GPU a result is an error code, which is looked at where the call is made.
        return NoResult(function.name) if function.returns and self._device == "cpu" else None


class NoResult:
    """Stands for the number that a function returns, which is not known here: using it
    is an error."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _refuse(self, *_: Any) -> Any:
        raise TypeError(
            f"the result of {self.__dict__['_name']}() does not reach Python; make the function "
            "void and let it write to a tensor, or do not look at what it returns (an error code "
            "neither): kernels run later than forward"
        )

    __getattr__ = __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = _refuse
    __len__ = __getitem__ = __iter__ = _refuse  # torch.tensor asks for these
    __float__ = __int__ = __index__ = __str__ = __format__ = __hash__ = _refuse  # type: ignore


# ---- kernels -------------------------------------------------------------------


class _Kernel:
    """A __global__ function: `kernel[grid, block]` or `kernel[grid, block, shared]` is
    what takes the arguments."""

    def __init__(self, source: str, function: Function, device: str) -> None:
        self._source = source
        self._function = function
        self.__name__ = self.__qualname__ = function.name
        self.__doc__ = function.signature

    def __call__(self, *_: Any) -> None:
        name = self._function.name
        raise TypeError(
            f"{name} is a kernel and needs a grid and a block: kernels.{name}[grid, block](…), or "
            "[grid, block, shared_bytes]"
        )

    def __getitem__(self, shape: Any) -> Callable[..., None]:
        name = self._function.name
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise TypeError(
                f"{name}[…] takes a grid, a block and, if wanted, bytes of shared memory"
            )
        grid = _dimensions(f"{name}: the grid", shape[0], GRID)
        block = _dimensions(f"{name}: the block", shape[1], BLOCK)
        if math.prod(block) > THREADS:
            raise ValueError(
                f"{name}: the block has {math.prod(block)} threads, at most {THREADS}"
            )
        shared = _whole(f"{name}: shared memory", shape[2] if len(shape) == 3 else 0)
        if not 0 <= shared <= SHARED_BYTES:
            raise ValueError(f"{name}: {shared} bytes of shared memory, at most {SHARED_BYTES}")

        def launch(*arguments: Any) -> None:
            self._record(grid, {"block": block, "shared": shared}, arguments)

        return launch

    def _record(self, grid: list[int], options: dict, arguments: tuple[Any, ...]) -> None:
        function = self._function
        recorder = _native_recorder(function.name)
        args = _arguments(recorder, function, arguments, "cuda")
        params = "".join(_code(p) for p in function.parameters)
        text = recorder.text(self._source)
        node = {
            "op": "launch",
            "kernel": recorder.kernel({"text": text, "name": function.name, "params": params}),
            "grid": grid,
            "args": {f"p{i}": arg for i, arg in enumerate(args)},
            "options": options,
        }
        recorder.launch(node)


def _code(parameter: Parameter) -> str:
    kind = parameter.type
    if parameter.pointer or parameter.filled_in or kind is None:
        return "P"
    return _CODES[f"{kind.kind}{kind.bits}"]


def _dimensions(what: str, value: Any, most: tuple[int, ...]) -> list[int]:
    """One to three numbers, as three."""
    listed = list(value) if isinstance(value, (tuple, list)) else [value]
    if not 1 <= len(listed) <= 3:
        raise TypeError(f"{what} has one to three dimensions, got {len(listed)}")
    sizes = [_whole(what, size) for size in listed] + [1] * (3 - len(listed))
    for size, limit in zip(sizes, most):
        if not 1 <= size <= limit:
            raise ValueError(f"{what} is {tuple(listed)}; each dimension is 1 to {most}")
    return sizes


def _whole(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} takes an int, got {type(value).__name__}")
    return value


# ---- arguments -----------------------------------------------------------------


class _Mismatch(Exception):
    """What was expected and what came instead."""


def _arguments(
    recorder: Any, function: Function, arguments: tuple[Any, ...], device: str
) -> list[Any]:
    """As the trace has them, streams included, which stay empty; a caller may leave them
    out."""
    wanted = sum(not p.filled_in for p in function.parameters)
    if len(arguments) == len(function.parameters):
        kept = zip(arguments, function.parameters)
        arguments = tuple(a for a, p in kept if a is not None or not p.filled_in)
    if len(arguments) != wanted:
        raise TypeError(
            f"{function.name}() takes {wanted} arguments, got {len(arguments)}: "
            f"{function.signature}"
        )
    values: list[Any] = []
    rest = iter(arguments)
    for parameter in function.parameters:
        if parameter.filled_in:
            values.append(None)
            continue
        value = next(rest)
        kind = parameter.type or CType("void")
        try:
            if not parameter.pointer:
                values.append(_fitting_number(kind, value))
            elif value is None:
                values.append(None)
            else:
                _check_tensor(kind, value, device)
                values.append({"t": recorder.view(value)})
        except _Mismatch as error:
            raise TypeError(
                f"{function.name}() parameter {parameter.name!r} ({parameter.text}): {error}"
            ) from None
    return values


def _check_tensor(kind: CType, value: Any, device: str) -> None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        raise _Mismatch(f"expected a tensor, got {type(value).__name__}")
    dtype = str(value.dtype).removeprefix("torch.")
    if kind.kind != "void" and dtype != kind.name:
        raise _Mismatch(f"expected a tensor of dtype torch.{kind.name}, got torch.{dtype}")
    if value.device.type != device:
        raise _Mismatch(f"expected a tensor on {_NAMES[device]}, got one on {value.device}")
    if value.layout != torch.strided:
        raise _Mismatch(f"expected a dense tensor, got layout {value.layout}")
    if not any(value.is_contiguous(memory_format=order) for order in _orders(torch, value)):
        raise _Mismatch(
            f"expected a contiguous tensor, got shape {tuple(value.shape)} with strides "
            f"{value.stride()}; call .contiguous() first"
        )


def _orders(torch: Any, value: Any) -> list[Any]:
    """Ways to lay out memory without gaps that have a name: who uses one means it."""
    named = {4: [torch.channels_last], 5: [torch.channels_last_3d]}
    return [torch.contiguous_format, *named.get(value.dim(), [])]


def _fitting_number(kind: CType, value: Any) -> Any:
    got = type(value).__name__
    if kind.kind == "bool":
        if not isinstance(value, bool):
            raise _Mismatch(f"expected a bool, got {got}")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Mismatch(f"expected {'a float' if kind.kind == 'float' else 'an int'}, got {got}")
    if kind.kind == "float":
        return _real(_fitting_float(kind, value))
    if not isinstance(value, int):
        raise _Mismatch(f"expected an int, got {got}")
    low = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    high = (1 << (kind.bits - (kind.kind == "int"))) - 1
    if not low <= value <= high:
        raise _Mismatch(f"{value} does not fit into {kind.bits} bits ({low} to {high})")
    return int(value)


def _fitting_float(kind: CType, value: int | float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(ctypes.c_float(number).value if kind.bits == 32 else number):
        if not (isinstance(value, float) and math.isinf(value)):
            raise _Mismatch(f"{value} does not fit into a {kind.bits}-bit float")
    return number


def _real(number: float) -> float | dict[str, str]:
    """JSON has no infinities."""
    return number if math.isfinite(number) else {"float": repr(number)}
