"""cuda_build.py: what candidates import to turn CUDA C++ source into functions.

    from cuda_build import build
    kernels = build(SOURCE)
    kernels.launch_relu(x, y, x.numel())

Every extern "C" host function of the source becomes a function here. A tensor is
passed as a pointer to its elements, and a parameter of type cudaStream_t is filled
with torch's current stream. The work is done by worker/native_cuda.py, which lies at
the same place beside packs/ in a source tree and in an installation.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

import native  # noqa: E402
import native_cuda  # noqa: E402

__all__ = ["build"]


def toolchain(arch: str) -> native.Toolchain:
    """Less time than the pack gives a build, so that slowness is told by its name."""
    return native_cuda.toolchain("MONKEYS_CUDA_CACHE", 100, arch, ["-std=c++17"])


def build(source: str) -> native.Library:
    """Compiles CUDA C++ source for the GPU at hand and loads it; its extern "C" host
    functions are the result's attributes."""
    return native.build(source, toolchain(native_cuda.architecture()), native_cuda.CUDA)
