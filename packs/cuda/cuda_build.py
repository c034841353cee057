"""cuda_build.py: what candidates import to launch kernels written in CUDA C++.

    from cuda_build import build
    kernels = build(SOURCE)
    kernels.relu_kernel[(n + 255) // 256, 256](x, y, n)

Every __global__ function of the source is an attribute of the result; in brackets stand
the grid, the block and, if wanted, the bytes of dynamic shared memory. A tensor is
passed as a pointer to its elements. Host code in the source is never run. The work is
done by worker/recorder/native_record.py, which lies at the same place beside packs/ in a source
tree and in an installation.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from recorder import native_record  # noqa: E402
from shared import native, native_cuda  # noqa: E402

__all__ = ["build"]


def toolchain(target: str) -> native.Toolchain:
    """Less time than the pack gives a build, so that slowness has its own name."""
    return native_cuda.cubin_toolchain(100, target, ["-std=c++17"])


def build(source: str) -> native_record.Library:
    """The kernels of CUDA C++ source, as attributes of the result."""
    return native_record.kernels(source, toolchain(native_cuda.DEFAULT_TARGET))
