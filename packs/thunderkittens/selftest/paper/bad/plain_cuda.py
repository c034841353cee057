"""Neither groups nor tiles."""
import torch
import torch.nn as nn

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

__global__ void relu_kernel(const __nv_bfloat16 *x, __nv_bfloat16 *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = __hmax(x[i], __float2bfloat16(0.0f));
}

extern "C" void launch_relu(__nv_bfloat16 *x, __nv_bfloat16 *out, int64_t rows, int64_t cols, cudaStream_t stream)
{
    relu_kernel<<<(unsigned)((rows * cols + 255) / 256), 256, 0, stream>>>(x, out, rows * cols);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        kernels.launch_relu(x.contiguous(), out, x.numel() // x.shape[-1], x.shape[-1])
        return out
