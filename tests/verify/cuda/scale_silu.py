"""SiLU of a scaled and shifted input, one element a thread, in any of three precisions."""
import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int THREADS = 256;

__device__ float widen(float v) { return v; }
__device__ float widen(__half v) { return __half2float(v); }
__device__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void narrow(float v, float *to) { *to = v; }
__device__ void narrow(float v, __half *to) { *to = __float2half(v); }
__device__ void narrow(float v, __nv_bfloat16 *to) { *to = __float2bfloat16(v); }

template <typename T>
__global__ void scale_silu_kernel(const T *__restrict__ x,
                                  const T *__restrict__ weight,
                                  const T *__restrict__ bias,
                                  T *__restrict__ y, int64_t n, int64_t features)
{
    const int64_t stride = (int64_t)gridDim.x * THREADS;

    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) {
        const int64_t f = i % features;
        const float v = widen(x[i]) * widen(weight[f]) + widen(bias[f]);

        narrow(v / (1.0f + expf(-v)), y + i);
    }
}

template <typename T>
static cudaError_t launch(const T *x, const T *weight, const T *bias, T *y,
                          int64_t n, int64_t features, cudaStream_t stream)
{
    int64_t blocks = (n + THREADS - 1) / THREADS;

    if (n == 0)
        return cudaSuccess;
    if (blocks > 8192)
        blocks = 8192;
    scale_silu_kernel<T><<<(unsigned)blocks, THREADS, 0, stream>>>(x, weight, bias, y, n, features);
    return cudaGetLastError();
}

extern "C" cudaError_t launch_float(const float *x, const float *weight, const float *bias,
                                    float *y, int64_t n, int64_t features, cudaStream_t stream)
{
    return launch(x, weight, bias, y, n, features, stream);
}

extern "C" cudaError_t launch_half(const __half *x, const __half *weight, const __half *bias,
                                   __half *y, int64_t n, int64_t features, cudaStream_t stream)
{
    return launch(x, weight, bias, y, n, features, stream);
}

extern "C" cudaError_t launch_bfloat16(const __nv_bfloat16 *x, const __nv_bfloat16 *weight,
                                       const __nv_bfloat16 *bias, __nv_bfloat16 *y, int64_t n,
                                       int64_t features, cudaStream_t stream)
{
    return launch(x, weight, bias, y, n, features, stream);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.bias = nn.Parameter(torch.rand(features) - 0.5)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n, features = x.numel(), x.shape[-1]
        if x.dtype == torch.float16:
            kernels.launch_half(x, self.weight, self.bias, y, n, features)
        elif x.dtype == torch.bfloat16:
            kernels.launch_bfloat16(x, self.weight, self.bias, y, n, features)
        else:
            kernels.launch_float(x, self.weight, self.bias, y, n, features)
        return y
