"""adapter.py: how the verifier records and builds this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py")."""

import os
from collections.abc import Callable

import tk_build
from compiler import hosted_compiler
from recorder import native_record
from shared import native, native_cuda
from shared.adapter import Recorder

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
    """Once, in the zygote: what this machine lacks shows now, and children know where
    the headers are."""
    global _root
    _root = str(tk_build.root())
    native.preprocess(_WARM, tk_build.toolchain())
    asked = native.calls(_WARM, [("launch_warm", "piip")])
    asked["launches"][0]["args"][1:] = [16, 32, None]
    compile(asked)


def child(mode: str) -> None:
    """In each child, after the box: its environment is fresh, but the headers are where
    the zygote found them."""
    os.environ.setdefault(tk_build.ROOT_VARIABLE, _root)


def version() -> str:
    compiler = native_cuda.nvcc_version(native_cuda.nvcc())
    return f"ThunderKittens headers {tk_build.headers_digest()[:12]}, {compiler}"


def identity() -> str:
    return f"{hosted_compiler.hosted_identity(tk_build.toolchain())} {tk_build.headers_digest()}"


def folders() -> list[str]:
    """What a build reads besides the system's folders."""
    return [_root, str(native_cuda.toolkit(native_cuda.nvcc()))]


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def claims() -> str:
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    native_record.install_native(current)


def compile(request: dict) -> bytes:
    """For the architecture that the headers are for, whatever the request's target is."""
    return hosted_compiler.expand_launches(request, tk_build.toolchain())
