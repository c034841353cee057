"""adapter.py: how the verifier records and builds this pack's candidates. Trusted;
called in the zygote and in each child (docs/PACKS.md, "adapter.py")."""

from collections.abc import Callable

import cuda_build
from compiler import native_compiler
from recorder import native_record
from shared import native, native_cuda
from shared.adapter import Recorder

_WARM = """
#include <cuda_runtime.h>
#include <cstdint>
__global__ void warm_kernel(float *x, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] += 1.0f;
}
"""


def prepare(mode: str) -> None:
    """Once, in the zygote: what this machine lacks shows now, and children know where
    the toolkit is."""
    native.preprocess(_WARM, cuda_build.toolchain(native_cuda.DEFAULT_TARGET))
    compile(native.launches(_WARM, [("warm_kernel", "Pq")]))


def child(mode: str) -> None:
    """In each child, after the box: there is nothing to do."""


def version() -> str:
    return native_cuda.nvcc_version(native_cuda.nvcc())


def identity() -> str:
    """The target is in every request."""
    return native_compiler.native_identity(cuda_build.toolchain(native_cuda.DEFAULT_TARGET))


def folders() -> list[str]:
    """What a build reads besides the system's folders."""
    return [str(native_cuda.toolkit(native_cuda.nvcc()))]


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def claims() -> str:
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    native_record.install_native(current)


def compile(request: dict) -> bytes:
    target = request.get("target") or native_cuda.DEFAULT_TARGET
    return native_compiler.compile_cubins(request, cuda_build.toolchain(target))
