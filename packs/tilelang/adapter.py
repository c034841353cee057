"""adapter.py: how the verifier records and compiles this pack's candidates (docs/PACKS.md,
"adapter.py"). Trusted; called in the zygote and in each child."""

import os
import subprocess
from collections.abc import Callable

from shared import packages

packages.add("tilelang")  # before the language is imported

import tilelang  # noqa: E402
import tilelang.language as T  # noqa: E402
import tvm  # noqa: E402
import tvm_ffi  # noqa: E402
from compiler import tilelang_compiler, tilelang_ir  # noqa: E402
from recorder import tilelang_record  # noqa: E402
from shared.adapter import Recorder  # noqa: E402
from tilelang.contrib.nvcc import get_nvcc_compiler  # noqa: E402
from tilelang.env import CUDA_HOME  # noqa: E402
from tvm.target import Target  # noqa: E402

_LANGUAGE = (*(os.path.dirname(m.__file__) for m in (tilelang, tvm_ffi)), "python/tvm_ffi")
_TARGET = {"kind": "cuda", "arch": "sm_90a"}  # while kernels are described


def prepare(mode: str) -> None:
    """Once, in the zygote: what a first kernel would load is loaded here. nvcc is not run."""

    @T.prim_func
    def warm(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                Y[i] = X[i] * 2

    target = Target(_TARGET)
    with target:
        tilelang.lower(tvm.ir.load_json(tvm.ir.save_json(warm)), target=target)


def child(mode: str) -> None:
    """In each child, after the box: operators ask for the target while a kernel is built."""
    Target(_TARGET).__enter__()


def version() -> str:
    return f"tilelang {tilelang.__version__}"


def identity() -> str:
    """What a build depends on besides the kernels."""
    said = subprocess.run([get_nvcc_compiler(), "--version"], capture_output=True, text=True)
    return f"{version()} {' '.join(said.stdout.split()[-4:])}"


def folders() -> list[str]:
    """Where the language and its compiler lie, which may be outside of Python's own folders."""
    packages = [os.path.dirname(os.path.dirname(module.__file__)) for module in (tilelang, tvm_ffi)]
    return list(dict.fromkeys(packages + ([CUDA_HOME] if CUDA_HOME else [])))


def is_compile_error(problem: BaseException) -> bool:
    """A kernel that does not compile, or that the language refuses while it is described:
    then the exception was raised in the language's own code."""
    if isinstance(problem, (tilelang_compiler.CompileFailed, tilelang_ir.Denied)):
        return True
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return False
    return frame.tb_frame.f_code.co_filename.startswith(_LANGUAGE)


def claims() -> str:
    """Where a candidate's tensors seem to be: kernels of this language run on GPUs."""
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    tilelang_record.install_tilelang(current)


def compile(request: dict) -> bytes:
    return tilelang_compiler.compile_tilelang(request)
