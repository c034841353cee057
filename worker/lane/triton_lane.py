"""Compiles the launches of a trace, in a process without data and without a GPU.

A request's launches are what triton_plan.requests makes of a trace: arguments as in the
trace, but tensors as {"t": [dtype, address modulo 16]} and descriptors as
{"desc": [[dtype, address modulo 16], shape, strides, block, padding, layout, tf32]}.

The answer is a line of JSON and the cubins behind each other:

  {"binaries": [BINARY], "launches": [{"binary": i} | {"error": text}]}
  BINARY = {"name", "bytes", "warps", "ctas", "shared", "scratch": [bytes, alignment],
            "profile": [bytes, alignment], "cooperative", "pdl", "params": [[PATH, TYPE]],
            "maps": [{"swizzle", "item", "type", "block", "fp4"}]}
  PATH = [parameter, place in a tuple, …]; behind a descriptor's name "base", "shape", d,
         "strides", d, "padding" or "tf32"
  TYPE = "*" (a pointer) | "i1" … "u64", "fp16" … "fp64" | "map" (maps are in this order)

An error is told where an autotuner may do without the configuration (`groups` are those
of one autotuner); else it ends the compilation."""

import builtins
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import triton
from lane import packed
from shared import kernel_assembly, kernel_language
from shared.triton_common import (
    CompileFailed, Denied, Kernels, NoDevice, check_constant, define, dtype, layout, no_launch,
    target,
)  # fmt: skip
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

_SHARED = {75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448,
           103: 232448, 120: 101376, 121: 101376}  # bytes that a program may have  # fmt: skip
_DIAGNOSTICS = 16_384  # bytes of what the compiler printed
_SHOWN = re.compile(r"(error|note|remark|fatal|assertion)", re.IGNORECASE)
_NOISE = re.compile(r"reproducer|Pipeline failed while executing|see current operation")
_INLINE = re.compile(
    r'elementwise_inline_asm "((?:[^"\\]|\\.)*)" \{constraints = "([^"]*)"[^}]*\}[^:\n]*: ([^\n]*?)->'
)
_ADDRESSES = {
    "tt.ptr_to_int": "makes an integer of a pointer", "tt.int_to_ptr": "makes a pointer of an integer",
    "!tt.ptr<!tt.ptr": "keeps pointers in memory",
}  # fmt: skip
_TENSORDESC = re.compile(r"tensordesc<([^\[>]*)\[([^\]]*)\]")


def compile(request: dict) -> bytes:
    """The answer; raises CompileFailed or kernel_language.Denied."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    gpu = target(request["target"])
    triton.runtime.driver.set_active(NoDevice(gpu))
    JITFunction.__getitem__ = no_launch
    try:
        return _answer(request, gpu.arch)
    finally:
        del JITFunction.__getitem__  # a zygote compiles, too, before others launch


def _answer(request: dict, arch: int) -> bytes:
    kernels = Kernels(request["source"], request["kernels"], _jit)
    binaries: list[dict] = []
    cubins: list[bytes] = []
    launches: list[dict] = []
    known: dict[int, int] = {}  # identity of what Triton compiled -> index
    for launch in request["launches"]:
        try:
            compiled = _compile(kernels, launch)
            if id(compiled) not in known:
                _check(compiled)
                binaries.append(_described(compiled, arch))
                cubins.append(compiled.asm["cubin"])
                known[id(compiled)] = len(binaries) - 1
            launches.append({"binary": known[id(compiled)]})
        except CompileFailed as problem:
            if not launch["tuned"]:
                raise
            launches.append({"error": str(problem)[:4000]})
    for group in request["groups"]:
        if all("error" in launches[i] for i in group):
            raise CompileFailed(launches[group[0]]["error"])
    return packed({"binaries": binaries, "launches": launches}, cubins)


def _jit(kernel: kernel_language.Kernel, told: dict, space: dict, file: str) -> Any:
    code = builtins.compile(kernel.text, file, "exec")
    function = define(kernel.text, code, kernel.name, space, file)
    options = {name: told.get(name) for name in
               ("noinline", "do_not_specialize", "do_not_specialize_on_alignment")}  # fmt: skip
    if told.get("language") == "gluon":
        from triton.experimental import gluon

        return gluon.jit(function, **options)
    return triton.jit(function, **options)


def _compile(kernels: Kernels, launch: dict) -> Any:
    kernel = kernels.get(launch["kernel"])
    for parameter in kernel.params:
        if parameter.is_constexpr:
            check_constant(parameter.name, launch["args"].get(parameter.name))
    args = {name: _argument(kernels, told) for name, told in launch["args"].items()}
    with _printed() as printed:
        try:
            made = kernel.warmup(grid=(1,), **args, **_options(launch, args))
            return made.result() if hasattr(made, "result") else made
        except Denied:
            raise
        except Exception as problem:  # noqa: BLE001 - any refusal counts
            failure = problem
    name = kernels.told[launch["kernel"]]["name"]
    raise CompileFailed(_explained(name, failure, printed)) from None


def _check(compiled: Any) -> None:
    """What a kernel must not learn shows in what the compiler made of it, however it is written."""
    name, text = compiled.metadata.name, compiled.asm.get("ttir") or compiled.asm["ttgir"]
    for operation, what in _ADDRESSES.items():
        if operation in text:
            raise CompileFailed(f"{name}: the kernel {what}, and where tensors lie is nothing that it may "
                                "compute with: offset, load and store through pointers, and ask "
                                "`if p is not None` instead of `if p`")  # fmt: skip
    try:
        kernel_assembly.check_registers(compiled.asm["ptx"])
        for asm, constraints, operands in _INLINE.findall(text):
            if "!tt.ptr" in operands:
                kernel_assembly.check_pointers(asm, constraints)
    except ValueError as problem:
        raise CompileFailed(f"{name}: {problem}") from None


def _options(launch: dict, args: dict) -> dict[str, Any]:
    """A parameter may have an option's name, and is given once."""
    return {name: value for name, value in launch["options"].items() if name not in args}


# ---- arguments ---------------------------------------------------------------


class Mock:
    """A tensor as the compiler sees it: its dtype and how it is aligned."""

    def __init__(self, dtype: Any, past: int) -> None:
        self.dtype = dtype
        self.past = past

    def data_ptr(self) -> int:
        return (1 << 20) + self.past


def _argument(kernels: Kernels, told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    ((kind, content),) = told.items()
    if kind == "t":
        return Mock(getattr(torch, content[0]), content[1])
    if kind == "reinterpret":
        (_, past), name = content
        return Mock(dtype(name), past)
    if kind == "tuple":
        return tuple(_argument(kernels, c) for c in content)
    if kind == "desc":
        return _descriptor(kernels, content)
    return kernels.value(told)


def _descriptor(kernels: Kernels, told: list) -> Any:
    (name, past), shape, strides, block, padding, laid_out, tf32 = told
    base = Mock(getattr(torch, name), past)
    rest = {"padding": padding} | ({"round_f32_to_tf32": True} if tf32 else {})
    if laid_out is None:
        return TensorDescriptor(base, shape, strides, block, **rest)
    from triton.experimental.gluon.nvidia import hopper

    name, fields = laid_out["layout"]
    made = layout(name, {n: kernels.value(v) for n, v in fields.items()})
    return hopper.TensorDescriptor(base, shape, strides, block, made, **rest)


# ---- what was compiled -------------------------------------------------------


def _described(compiled: Any, arch: int) -> dict:
    told = compiled.metadata
    most = _SHARED.get(arch, 49152)
    if told.shared > most:
        raise CompileFailed(
            f"{told.name}: out of resource: shared memory, required: {told.shared}, hardware "
            f"limit: {most}. Reducing block sizes or `num_stages` may help.")  # fmt: skip
    maps = list(getattr(told, "tensordesc_meta", None) or [])
    return {
        "name": told.name,
        "bytes": len(compiled.asm["cubin"]),
        "warps": told.num_warps,
        "ctas": getattr(told, "num_ctas", 1),
        "shared": told.shared,
        "scratch": [told.global_scratch_size or 0, told.global_scratch_align or 1],
        "profile": [told.profile_scratch_size or 0, told.profile_scratch_align or 1],
        "cooperative": bool(told.launch_cooperative_grid),
        "pdl": bool(getattr(told, "launch_pdl", False)),
        "params": list(_params(compiled.src.signature, maps)),
        "maps": [_map(m) for m in maps if m is not None],
    }


def _map(told: dict) -> dict:
    return {"swizzle": told["swizzle"], "item": told["elem_size"], "type": told["elem_type"],
            "block": list(told["block_size"]), "fp4": bool(told["fp4_padded"])}  # fmt: skip


def _params(signature: dict[str, Any], maps: list) -> Iterator[list]:
    """The kernel's parameters in order, as Triton's launcher passes them."""
    position = 0
    for name, kind in signature.items():
        if isinstance(kind, str) and kind.startswith("tensordesc"):
            told = maps[position] if maps else None
            position += 1
            yield from _descriptor_params(name, kind, told is not None)
        else:
            yield from _plain_params([name], kind)


def _plain_params(path: list, kind: Any) -> Iterator[list]:
    if isinstance(kind, (tuple, list)):
        for at, inner in enumerate(kind):
            yield from _plain_params([*path, at], inner)
    elif kind.startswith("tensordesc"):
        raise CompileFailed(f"{path[0]}: a tensor descriptor inside a tuple cannot be launched")
    elif kind != "constexpr":
        yield [path, "*" if kind.startswith("*") else kind]


def _descriptor_params(name: str, kind: str, mapped: bool) -> Iterator[list]:
    """A map, or where the kernel does without TMA a pointer and what it would hold; then
    shape and strides."""
    rank = _TENSORDESC.match(kind)[2].count(",") + 1
    if mapped:
        yield [[name], "map"]
    else:
        yield [[name, "base"], "*"]
        for part in ("shape", "strides"):
            yield from ([[name, part, d], "i64"] for d in range(rank))
        yield [[name, "padding"], "i1"]
        if "round_f32_to_tf32" in TensorDescriptor.__dataclass_fields__:
            yield [[name, "tf32"], "i1"]
    yield from ([[name, "shape", d], "i32"] for d in range(rank))
    yield from ([[name, "strides", d], "i64"] for d in range(rank))


# ---- errors ------------------------------------------------------------------


@contextmanager
def _printed() -> Iterator[list[str]]:
    """What the compiler itself writes, which is where its diagnostics go."""
    text: list[str] = []
    sys.stdout.flush()
    held, saved = os.memfd_create("diagnostics"), [os.dup(1), os.dup(2)]
    for number in (1, 2):
        os.dup2(held, number)
    try:
        yield text
    finally:
        sys.stdout.flush()
        for number, old in zip((1, 2), saved):
            os.dup2(old, number)
            os.close(old)
        text.append(os.pread(held, _DIAGNOSTICS, 0).decode("utf-8", "replace"))
        os.close(held)


def _explained(name: str, problem: Exception, printed: list[str]) -> str:
    """The error and its causes: Triton reports the outermost of nested kernels alone."""
    said = str(problem).partition("Repro command")[0].rstrip()
    parts = [f"{name}: {type(problem).__name__}: {said}"]
    cause = problem.__cause__
    while cause is not None and len(parts) < 6:
        parts.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    lines = [line[:400] for text in printed for line in text.splitlines()
             if _SHOWN.search(line) and not _NOISE.search(line) and line not in said]  # fmt: skip
    return "\n".join([*parts, *dict.fromkeys(lines[:20])])[:8000]
