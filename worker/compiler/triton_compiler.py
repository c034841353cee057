"""Compiles the launches of a trace, in a process without data and without a GPU.

A launch's arguments are as in the trace, but of a tensor the compiler gets [number, dtype,
address modulo 16]: its number among the tensors, and what a kernel depends on."""

import builtins
import math
import os
import re
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import triton
from compiler import NULL, Answer, Malformed, answer_of, as_number, node, value
from shared import kernel_assembly, kernel_language
from shared.program import ITEM, THREADS
from shared.triton_common import (
    CompileFailed, Denied, Kernels, NoDevice, check_constant, define, dtype, layout, no_launch,
    gpu_target,
)  # fmt: skip
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

_SHARED = {75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448,
           103: 232448, 120: 101376, 121: 101376}  # bytes that a program may have  # fmt: skip
_INTEGERS = {"i1": 8, "u1": 8, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32,
             "i64": 64, "u64": 64}  # bits that are passed  # fmt: skip
_FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}
_MAP_TYPES = {8: 10, 9: 8, 10: 9}  # the compiler's number of a type -> the driver's
_TF32 = 11
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


def compile_triton(request: dict) -> bytes:
    """The answer; raises CompileFailed or kernel_language.Denied."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    gpu = gpu_target(request["target"])
    triton.runtime.driver.set_active(NoDevice(gpu))
    JITFunction.__getitem__ = no_launch
    try:
        return _answer_request(request, gpu.arch)
    finally:
        del JITFunction.__getitem__  # a zygote compiles, too, before others launch


def _answer_request(request: dict, arch: int) -> bytes:
    kernels = Kernels(request["source"], request["kernels"], _jit)
    known: dict[int, int] = {}  # identity of what Triton compiled -> number of its function

    def fill(made: Answer) -> None:
        def nodes(launch: dict) -> list[dict]:
            compiled = _compile_launch(kernels, launch)
            if id(compiled) not in known:
                _check_compiled(compiled)
                _check_resources(compiled, arch)
                known[id(compiled)] = made.module("cubin", compiled.asm["cubin"], [compiled.metadata.name])
            return [_triton_node(known[id(compiled)], compiled, launch)]

        made.launch(request, nodes, CompileFailed)

    return answer_of(fill)


def _jit(kernel: kernel_language.Kernel, spec: dict, space: dict, file: str) -> Any:
    code = builtins.compile(kernel.text, file, "exec")
    function = define(kernel.text, code, kernel.name, space, file)
    options = {name: spec.get(name) for name in
               ("noinline", "do_not_specialize", "do_not_specialize_on_alignment")}  # fmt: skip
    if spec.get("language") == "gluon":
        from triton.experimental import gluon

        return gluon.jit(function, **options)
    return triton.jit(function, **options)


def _compile_launch(kernels: Kernels, launch: dict) -> Any:
    kernel = kernels.get(launch["kernel"])
    for parameter in kernel.params:
        if parameter.is_constexpr:
            check_constant(parameter.name, launch["args"].get(parameter.name))
    args = {name: _triton_argument(kernels, raw) for name, raw in launch["args"].items()}
    with _printed() as printed:
        try:
            made = kernel.warmup(grid=(1,), **args, **_given_options(launch, args))
            return made.result() if hasattr(made, "result") else made
        except Denied:
            raise
        except Exception as problem:  # noqa: BLE001 - any refusal counts
            failure = problem
    name = kernels.specs[launch["kernel"]]["name"]
    raise CompileFailed(_triton_explained(name, failure, printed)) from None


def _check_compiled(compiled: Any) -> None:
    """What a kernel must not learn shows in what the compiler made of it, however it is written."""
    name, text = compiled.metadata.name, compiled.asm.get("ttir") or compiled.asm["ttgir"]
    text = _without_null_tests(text)
    for operation, what in _ADDRESSES.items():
        if operation in text:
            raise CompileFailed(f"{name}: the kernel {what}, and where tensors lie is nothing that it may "
                                "compute with: offset, load and store through pointers")  # fmt: skip
    try:
        kernel_assembly.check_registers(compiled.asm["ptx"])
        for asm, constraints, operands in _INLINE.findall(text):
            if "!tt.ptr" in operands:
                kernel_assembly.check_pointers(asm, constraints)
    except ValueError as problem:
        raise CompileFailed(f"{name}: {problem}") from None


def _without_null_tests(text: str) -> str:
    """Without integers of pointers that are compared with zero and nothing else: `if p:`."""
    zeros = re.findall(r"(%\S+) = arith\.constant 0 : i64", text)
    for name, rest in re.findall(r"(%\S+) = tt\.ptr_to_int( .*)", text):
        uses = re.findall(rf"^.*{re.escape(name)}\b(?! = ).*$", text, re.MULTILINE)
        tests = [re.search(rf" arith\.cmpi (?:eq|ne), {re.escape(name)}, (%\S+) : i64", use) for use in uses]
        if all(test and test[1] in zeros for test in tests):
            text = text.replace(f"{name} = tt.ptr_to_int{rest}", "")
    return text


def _given_options(launch: dict, args: dict) -> dict[str, Any]:
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


def _triton_argument(kernels: Kernels, raw: Any) -> Any:
    if not isinstance(raw, dict):
        return raw
    ((kind, content),) = raw.items()
    if kind == "t":
        return Mock(getattr(torch, content[1]), content[2])
    if kind == "reinterpret":
        (_, _, past), name = content
        return Mock(dtype(name), past)
    if kind == "tuple":
        return tuple(_triton_argument(kernels, c) for c in content)
    if kind == "desc":
        return _descriptor(kernels, content)
    return kernels.value(raw)


def _descriptor(kernels: Kernels, raw: list) -> Any:
    (_, name, past), shape, strides, block, padding, laid_out, tf32 = raw
    base = Mock(getattr(torch, name), past)
    rest = {"padding": padding} | ({"round_f32_to_tf32": True} if tf32 else {})
    if laid_out is None:
        return TensorDescriptor(base, shape, strides, block, **rest)
    from triton.experimental.gluon.nvidia import hopper

    name, fields = laid_out["layout"]
    made = layout(name, {n: kernels.value(v) for n, v in fields.items()})
    return hopper.TensorDescriptor(base, shape, strides, block, made, **rest)


# ---- what was compiled -------------------------------------------------------


def _check_resources(compiled: Any, arch: int) -> None:
    """What Triton finds out when it loads a binary; its autotuner does without such a configuration."""
    metadata = compiled.metadata
    if 32 * metadata.num_warps > THREADS:
        raise CompileFailed(f"{metadata.name}: out of resource: threads, required: {32 * metadata.num_warps}, "
                            f"hardware limit: {THREADS}. Reducing `num_warps` may help.")  # fmt: skip
    most = _SHARED.get(arch, 49152)
    if metadata.shared > most:
        raise CompileFailed(
            f"{metadata.name}: out of resource: shared memory, required: {metadata.shared}, hardware "
            f"limit: {most}. Reducing block sizes or `num_stages` may help.")  # fmt: skip


def _triton_node(function: int, compiled: Any, launch: dict) -> dict:
    """As Triton's own launcher would launch it."""
    metadata = compiled.metadata
    maps = list(getattr(metadata, "tensordesc_meta", None) or [])
    given = (found for found in maps if found is not None)
    params = [_triton_param(path, kind, launch["args"], given)
              for path, kind in _signature_params(compiled.src.signature, maps)]  # fmt: skip
    ctas = getattr(metadata, "num_ctas", 1)
    x, y, z = (*launch["grid"], 1, 1)[:3]
    at = 0
    for size in (metadata.global_scratch_size, metadata.profile_scratch_size):
        needs = -(-(size or 0) * math.prod((x, y, z, ctas)) // 256) * 256
        params.append(["w", at] if needs else NULL)
        at += needs
    return node(function, params, [x * ctas, y, z], [32 * metadata.num_warps, 1, 1], metadata.shared,
                (ctas, 1, 1), bool(metadata.launch_cooperative_grid),
                bool(getattr(metadata, "launch_pdl", False)), at)  # fmt: skip


def _signature_params(signature: dict[str, Any], maps: list) -> Iterator[list]:
    """The kernel's parameters in order, as Triton's launcher passes them."""
    position = 0
    for name, kind in signature.items():
        if isinstance(kind, str) and kind.startswith("tensordesc"):
            tensor_map = maps[position] if maps else None
            position += 1
            yield from _descriptor_params(name, kind, tensor_map is not None)
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


# ---- arguments as parameters -------------------------------------------------


def _triton_param(path: list, kind: str, args: dict, maps: Iterator) -> list:
    """`path` leads to a part of an argument: the parameter's name, then places in tuples, or of a
    descriptor "base", "shape", d, "strides", d, "padding" or "tf32"."""
    found = _found(path, args)
    if kind == "map":
        return _descriptor_map(found["desc"], next(maps))
    if kind == "*":
        return _pointer(found)
    held = value(found)
    if kind in _INTEGERS:
        return _integer(held, _INTEGERS[kind], signed=kind[0] == "i" and kind != "i1")
    if kind == "bf16":  # as Triton's launcher does it, by cutting bits off
        return as_number(_float_bytes("<f", held)[2:])
    return as_number(_float_bytes(_FLOATS[kind], held))


def _found(path: list, args: dict) -> Any:
    name, *rest = path
    found = args[name]
    if isinstance(found, dict) and "desc" in found and rest:
        base, shape, strides, _, padding, _, tf32 = found["desc"]
        parts = {"base": {"t": base}, "padding": padding == "nan", "tf32": bool(tf32),
                 "shape": shape, "strides": strides}  # fmt: skip
        return parts[rest[0]][rest[1]] if len(rest) == 2 else parts[rest[0]]
    for part in rest:
        found = found["tuple"][part]
    return found


def _pointer(found: Any) -> list:
    if found is None:
        return NULL
    if not isinstance(found, dict) or not found.keys() & {"t", "reinterpret"}:
        raise Malformed("a pointer that is not a tensor")
    return ["p", found["t"][0] if "t" in found else found["reinterpret"][0][0], 0]


def _integer(value: Any, size: int, signed: bool) -> list:
    """As the driver takes it. One that does not fit is refused, as a launcher would."""
    low, high = (-(1 << size - 1), 1 << size - 1) if signed else (0, 1 << size)
    if not isinstance(value, int) or not low <= value < high:
        raise Malformed("an integer that does not fit its parameter")
    return ["n", size // 8, int(value) & ((1 << size) - 1)]


def _float_bytes(form: str, value: float) -> bytes:
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, math.copysign(math.inf, value))


def _descriptor_map(raw: list, known: dict) -> list:
    (number, dtype, _), shape, strides, _, padding, _, tf32 = raw
    item = known["elem_size"]
    if item != ITEM[dtype] or len(known["block_size"]) != len(shape):
        raise Malformed("a map of another descriptor")
    if known["fp4_padded"]:
        raise CompileFailed("descriptors of packed fp4 are not supported")
    kind = _TF32 if tf32 else _MAP_TYPES.get(known["elem_type"], known["elem_type"])
    return ["m", number, 0, kind, shape[::-1], [s * item for s in strides[-2::-1]],
            list(known["block_size"])[::-1], known["swizzle"], 1 if padding == "nan" else 0]  # fmt: skip


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


def _triton_explained(name: str, problem: Exception, printed: list[str]) -> str:
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
