"""Compiles the MLIR that CuTe DSL made of a candidate's kernels, in a process without data
and without a GPU. The host code in it is compiled as well, and never runs.

A request's objects are what cuda_plan.requests makes of a trace: {"text": t, "launches":
[[name, sizes], …]}. The answer is a line of JSON and the cubins behind each other:

  {"sizes": [bytes, …], "entries": [[symbol, …], …]}"""

import re

from cutlass._mlir import ir
from cutlass.base_dsl.common import DSLBaseError
from cutlass.cutlass_dsl.cutlass import CuTeDSL
from lane import native_lane
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


def compile(request: dict) -> bytes:
    """The answer; raises CompileFailed or Denied."""
    arch = request["target"] + ("" if request["target"].endswith("a") else "a")
    cubins = [_cubin(request["texts"][told["text"]], arch) for told in request["objects"]]
    entries = [[name for name, _ in told["launches"]] for told in request["objects"]]
    return native_lane.answer({"entries": entries}, cubins)


def _cubin(text: str, arch: str) -> bytes:
    dsl = CuTeDSL._get_dsl()
    pipeline = dsl.preprocess_pipeline(dsl._get_pipeline(None), arch)
    with ir.Context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except (ir.MLIRError, ValueError) as problem:
            raise Denied(f"it is not MLIR: {str(problem)[:400]}") from None
        check(module)
        try:
            dsl.compiler_provider.compile(module, pipeline)
        except (DSLBaseError, ir.MLIRError, RuntimeError) as problem:
            raise CompileFailed(str(problem)[:_LONGEST]) from None
        found = [b for op in module.body.operations for b in _binaries(op.operation)]
    if len(found) != 1:
        raise CompileFailed(f"the compiler made {len(found)} binaries")
    return found[0]


def check(module: ir.Module) -> None:
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
        kernel_assembly.check_text(text)
    except ValueError as problem:
        raise Denied(str(problem)) from None


def _binaries(op: ir.Operation) -> list[bytes]:
    if op.name != "llvm.mlir.global" or "value" not in op.attributes:
        return []
    value = op.attributes["value"]
    return fatbin.cubins(value.value_bytes) if isinstance(value, ir.StringAttr) else []
