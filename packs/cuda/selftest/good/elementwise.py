"""Fused bias and GELU, four values a thread."""
import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_runtime.h>
#include <math_constants.h>
#include <cstdint>

__device__ __forceinline__ float gelu(float v)
{
    return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
}

__global__ void bias_gelu_kernel(const float4 *__restrict__ x,
                                 const float4 *__restrict__ bias,
                                 float4 *__restrict__ y, int64_t groups,
                                 int64_t bias_groups)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;

    // A grid-stride loop: the grid may be smaller than the tensor.
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < groups; i += stride) {
        float4 v = x[i];
        const float4 b = bias[i % bias_groups];
        v.x = gelu(v.x + b.x);
        v.y = gelu(v.y + b.y);
        v.z = gelu(v.z + b.z);
        v.w = gelu(v.w + b.w);
        y[i] = v;
    }
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        groups = x.numel() // 4
        grid = min((groups + 255) // 256, 4096)
        kernels.bias_gelu_kernel[grid, 256](x, self.bias, out, groups, x.shape[-1] // 4)
        return out
