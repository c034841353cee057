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

extern "C" int launch_bias_gelu(const float *x, const float *bias, float *y,
                                int64_t n, int64_t features,
                                cudaStream_t stream)
{
    const int threads = 256;
    const int64_t groups = n / 4;
    int64_t blocks = (groups + threads - 1) / threads;

    if (blocks > 4096)
        blocks = 4096;
    bias_gelu_kernel<<<(unsigned)blocks, threads, 0, stream>>>(
        reinterpret_cast<const float4 *>(x),
        reinterpret_cast<const float4 *>(bias), reinterpret_cast<float4 *>(y),
        groups, features / 4);
    return (int)cudaGetLastError();
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
        kernels.launch_bias_gelu(x, self.bias, out, x.numel(), x.shape[-1])
        return out
