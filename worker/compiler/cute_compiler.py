"""Compiles the MLIR that CuTe DSL made of a candidate's kernels, in a process without data
and without a GPU. The host code in it is compiled as well, and never runs.

A launch's arguments are those of the trace (cute_record.py)."""

import re

from cutlass._mlir import ir
from cutlass.base_dsl.common import DSLBaseError
from cutlass.cutlass_dsl.cutlass import CuTeDSL
from compiler import Answer, Malformed, answer_of, as_number, native_compiler, node
from shared import fatbin, kernel_assembly

_LONGEST = 8000  # characters of an error
_DIALECTS = frozenset(
    ("arith", "builtin", "cf", "complex", "cuda", "cute", "cute_nvgpu", "func", "gpu", "index",
     "llvm", "math", "nvgpu", "nvvm", "scf", "ub", "vector")
)  # fmt: skip
_DENIED = frozenset(
    ("builtin.unrealized_conversion_cast", "gpu.binary", "llvm.mlir.global", "llvm.mlir.global_ctors",
     "llvm.module_flags", "cuda.module")
)  # fmt: skip
_ELSEWHERE = re.compile(r"sreg\.(clock|globaltimer|smid|gridid|pm\d)")  # as in kernel_assembly.py
_ASSEMBLY = {"llvm.inline_asm": "asm_string", "nvvm.inline_ptx": "ptxCode"}


class CompileFailed(Exception):
    """A kernel that does not compile; the text is for whoever wrote it."""


class Denied(Exception):
    """MLIR that is not what the language makes."""


def compile_cute(request: dict) -> bytes:
    """The answer; raises CompileFailed or Denied."""
    arch = request["target"] + ("" if request["target"].endswith("a") else "a")

    def fill(made: Answer) -> None:
        numbers: dict[tuple, int] = {}
        launches = [(request["kernels"][launch["kernel"]], launch) for launch in request["launches"]]
        for text, kernels in native_compiler.launched(launches).items():
            first = made.module("cubin", _cute_cubin(request["texts"][text], arch), kernels)
            numbers |= {(text, name): first + i for i, name in enumerate(kernels)}
        for kernel, launch in launches:
            function = numbers[kernel["text"], kernel["name"]]
            made.launches.append({"nodes": [_cute_node(function, launch, kernel["params"])]})

    return answer_of(fill)


def _cute_node(function: int, launch: dict, sizes: object) -> dict:
    args = list(launch["args"].values())
    if [len(_argument_bytes(arg)) for arg in args] != sizes:
        raise Malformed("an argument of another size than its parameter")
    options = {"block": None, "shared": None, **launch["options"]}
    return node(function, [_cute_param(arg) for arg in args], launch["grid"], **options)


def _cute_param(arg: dict) -> list:
    data = _argument_bytes(arg)
    if "t" in arg:
        at = ["p", arg["t"][0], arg["o"]]
        return at if len(data) == 8 else ["s", data.hex(), [[0, at]]]
    return as_number(data) if len(data) <= 8 else ["s", data.hex(), []]


def _argument_bytes(arg: dict) -> bytes:
    try:
        data = bytes.fromhex(arg["b"])
    except ValueError:
        raise Malformed("an argument's bytes") from None
    if len(data) < (8 if "t" in arg else 1):
        raise Malformed("the size of an address")
    return data


def _cute_cubin(text: str, arch: str) -> bytes:
    dsl = CuTeDSL._get_dsl()
    pipeline = dsl.preprocess_pipeline(dsl._get_pipeline(None), arch)
    with ir.Context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except (ir.MLIRError, ValueError) as problem:
            raise Denied(f"it is not MLIR: {str(problem)[:400]}") from None
        check_mlir(module)
        try:
            dsl.compiler_provider.compile(module, pipeline)
        except (DSLBaseError, ir.MLIRError, RuntimeError) as problem:
            raise CompileFailed(str(problem)[:_LONGEST]) from None
        found = [b for op in module.body.operations for b in _binaries(op.operation)]
    if len(found) != 1:
        raise CompileFailed(f"the compiler made {len(found)} binaries")
    return found[0]


def check_mlir(module: ir.Module) -> None:
    """Denied for what would bring code of another making into the binary, and for registers that
    assembly must not read: of the language as it writes them, operations as well as names."""
    if found := _ELSEWHERE.search(str(module.operation)):
        raise Denied(f"a kernel must not read {found[1]}: what it computes depends on its arguments alone")
    stack = [module.operation]
    while stack:
        op = stack.pop()
        dialect = op.name.partition(".")[0]
        if dialect not in _DIALECTS or op.name in _DENIED:
            raise Denied(f"the operation {op.name} is not allowed in a kernel")
        if op.name == "gpu.module" and "targets" in op.attributes:
            raise Denied("a module with a target of its own")
        if op.name in _ASSEMBLY:
            _check_assembly(op)
        stack += [inner.operation for r in op.regions for b in r.blocks for inner in b.operations]


def _check_assembly(op: ir.Operation) -> None:
    text = ir.StringAttr(op.attributes[_ASSEMBLY[op.name]]).value
    try:
        kernel_assembly.check_assembly(text)
    except ValueError as problem:
        raise Denied(str(problem)) from None


def _binaries(op: ir.Operation) -> list[bytes]:
    if op.name != "llvm.mlir.global" or "value" not in op.attributes:
        return []
    value = op.attributes["value"]
    return fatbin.cubins(value.value_bytes) if isinstance(value, ir.StringAttr) else []
