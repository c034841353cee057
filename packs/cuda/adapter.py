"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py")."""

from types import ModuleType

import cuda_build
import native
import native_adapter
import native_cuda
from native_adapter import (  # noqa: F401 - of the interface
    child,
    describe,
    is_compile_error,
    launches,
    mute,
    reset,
)

_WARM = """
#include <cuda_runtime.h>
#include <cstdint>
__global__ void warm_kernel(float *x, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] += 1.0f;
}
extern "C" void launch_warm(float *x, int64_t n, cudaStream_t stream)
{
    warm_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, n);
}
"""


def prepare(mode: str) -> None:
    """Once, in the zygote: a kernel is built and loaded, but not launched, and the GPU
    is not asked what it is; a process that has used CUDA cannot be forked."""
    toolchain = cuda_build.toolchain(native_cuda.DEFAULT_ARCHITECTURE)
    native.try_out(_WARM, toolchain, native_cuda.CUDA)


def toolchain() -> native.Toolchain:
    return cuda_build.toolchain(native_cuda.architecture())


def version() -> str:
    return native_cuda.version(native_cuda.nvcc())


def watched() -> list[ModuleType]:
    """Modules whose functions a candidate must leave as they are."""
    return [native, native.Library, native_adapter, native_cuda, cuda_build]


def folders() -> list[str]:
    """What a build reads besides the system's folders."""
    return [str(native_cuda.toolkit(native_cuda.nvcc()))]
