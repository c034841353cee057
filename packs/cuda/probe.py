"""probe.py: prints how far this machine gets with the pack, by doing it."""
from __future__ import annotations

import os
import tempfile

SOURCE = """
#include <cuda_runtime.h>
#include <cstdint>
__global__ void twice_kernel(const float *x, float *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = 2.0f * x[i];
}
extern "C" void launch_twice(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    twice_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
"""


def probe() -> str:
    try:
        from cuda_build import build, native_cuda

        name = native_cuda.gpu_name()
        lib = build(SOURCE)
        compiler = native_cuda.version(native_cuda.nvcc())
    except Exception as error:
        return f"checks: no kernel can be built: {first_line(error)}"
    if not name:
        return f"compile: {compiler}, and torch sees no CUDA device"
    import torch

    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    y = torch.empty_like(x)
    try:
        lib.launch_twice(x, y, x.numel())
        right = torch.equal(y, x + x)
    except RuntimeError as error:
        return f"compile: {compiler}, but a kernel does not run on {name}: {first_line(error)}"
    if not right:
        return f"compile: {compiler}, but a kernel gave wrong values on {name}"
    return f"run: {compiler}, {name}"


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MONKEYS_CUDA_CACHE"] = folder
        print(probe())
