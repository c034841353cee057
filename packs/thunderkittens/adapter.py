"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py")."""

import os
from types import ModuleType

import native
import native_adapter
import native_cuda
import tk_build
from native_adapter import describe, is_compile_error, launches, mute, reset  # noqa: F401

_WARM = """
#include "kittens.cuh"
using namespace kittens;
__global__ void warm_kernel(const __grid_constant__ gl<bf16, 1, 1, -1, -1> g)
{
    rt_fl<16, 16> t;
    warp::load(t, g, {0, 0, 0, 0});
    warp::store(g, t, {0, 0, 0, 1});
}
extern "C" void launch_warm(bf16 *x, int64_t rows, int64_t cols, cudaStream_t stream)
{
    gl<bf16, 1, 1, -1, -1> g{x, nullptr, nullptr, (size_t)rows, (size_t)cols};
    warm_kernel<<<1, 32, 0, stream>>>(g);
}
"""

_root = ""


def prepare(mode: str) -> None:
    """Once, in the zygote: a kernel is built and loaded, but not launched; a process
    that has used CUDA cannot be forked."""
    global _root
    _root = str(tk_build.root())
    native.try_out(_WARM, tk_build.toolchain(), native_cuda.CUDA)


def child(mode: str) -> None:
    """In each child, before the candidate's source is read: its environment is fresh,
    but the headers are where the zygote found them."""
    os.environ[tk_build.ROOT_VARIABLE] = _root
    native_adapter.child(mode)


def toolchain() -> native.Toolchain:
    return tk_build.toolchain()


def version() -> str:
    compiler = native_cuda.version(native_cuda.nvcc())
    return f"ThunderKittens headers {tk_build.headers_digest()[:12]}, {compiler}"


def watched() -> list[ModuleType]:
    """Modules whose functions a candidate must leave as they are."""
    return [native, native.Library, native_adapter, native_cuda, tk_build]


def folders() -> list[str]:
    """What a build reads besides the system's folders."""
    return [_root, str(native_cuda.toolkit(native_cuda.nvcc()))]
