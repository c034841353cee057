"""quill.py: what candidates import to turn a quill program into functions.

    from quill import build
    lib = build(PROGRAM)
    lib.softmax(x, y, x.shape[0], x.shape[1])

A call is checked against the scroll's head and recorded. The compiler translates the program
to C, checks the call again and compiles it (adapter.py)."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from recorder import native_record  # noqa: E402
from shared import native  # noqa: E402
from shared.native_source import CType, Function, Parameter  # noqa: E402
from shared.translation import FLOAT, INT, Memory  # noqa: E402

import quill_read  # noqa: E402

__all__ = ["build"]

# A coordinate that overflows wraps: the compiler must not conclude that it cannot, and drop
# the check of its range.
TOOLCHAIN = native.Toolchain(
    compiler=("cc",),
    flags=tuple(
        "-std=c11 -O3 -fPIC -fwrapv -ffp-contract=on -fno-math-errno -fno-trapping-math "
        "-fno-strict-aliasing -w -Werror=implicit-function-declaration".split()
    ),
    timeout_s=50,
    source_name="program.c",
)
_TYPES = {"f32": CType("float", 32), "i64": CType("int", 64), "bool": CType("bool", 8)}


def taken(p: quill_read.Parameter) -> Memory | str:
    """What a scroll takes, for the compiler, which believes no check that was made here."""
    if p.kind in ("count", "grain"):
        return INT if p.kind == "count" else FLOAT
    return Memory(_TYPES[p.dtype].name, p.dims)


def _parameter(p: quill_read.Parameter) -> Parameter:
    if p.kind == "count":
        return Parameter(p.name, f"count {p.name}", CType("int", 64))
    if p.kind == "grain":
        return Parameter(p.name, f"grain {p.name}", CType("float", 64))
    dims = ", ".join(map(str, p.dims))
    text = f"{p.kind} {p.name}: {p.dtype}[{dims}]"
    return Parameter(p.name, text, _TYPES.get(p.dtype), pointer=True)


class Library:
    """The scrolls of a program, as attributes."""

    def __init__(self, program: str) -> None:
        self._program = native.check_source(program)
        try:
            self._scrolls = {s.name: s for s in quill_read.read(program)}
        except quill_read.QuillError as error:
            raise native.BuildError(error.beside(program)) from None

    def __getattr__(self, name: str) -> Any:
        scrolls = self.__dict__.get("_scrolls", {})
        if name.startswith("__") or not scrolls:
            raise AttributeError(name)
        if name not in scrolls:
            known = ", ".join(scrolls)
            raise AttributeError(f"the program has no scroll {name!r}; it has: {known}")
        return _Entry(self._program, scrolls[name])


class _Entry:
    def __init__(self, program: str, scroll: quill_read.Scroll) -> None:
        self._scroll = scroll
        parameters = tuple(_parameter(p) for p in scroll.parameters)
        function = Function(scroll.name, returns=False, parameters=parameters)
        self._call = native_record.Call(program, function, "cpu")

    def __call__(self, *arguments: Any) -> None:
        if len(arguments) == len(self._scroll.parameters):
            self._check_shapes(arguments)
        self._call(*arguments)

    def _check_shapes(self, arguments: tuple[Any, ...]) -> None:
        """Memory has the size that the scroll's head says: coordinates are checked
        against that alone."""
        given = {p.name: a for p, a in zip(self._scroll.parameters, arguments)}
        for p in self._scroll.parameters:
            shape = getattr(given[p.name], "shape", None)
            if p.kind not in ("well", "basin") or shape is None:
                continue
            wanted = tuple(given[d] if isinstance(d, str) else d for d in p.dims)
            if tuple(shape) != wanted:
                raise TypeError(
                    f"{self._scroll.name}() parameter {p.name!r}: the scroll's head says "
                    f"{list(p.dims)}, which is {wanted} here, got a tensor of shape "
                    f"{tuple(shape)}"
                )


def build(program: str) -> Library:
    """The scrolls of a quill program, as attributes of the result."""
    return Library(program)
