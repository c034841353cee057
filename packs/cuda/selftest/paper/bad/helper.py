"""A genuine kernel that the literal rules refuse: the helper builds it, and they know another builder."""
import torch
import torch.nn as nn

from cuda_build import build

COMMON = r'''
#include <cuda_runtime.h>
#include <math_constants.h>
#include <stdint.h>

static constexpr int THREADS = 256;
static constexpr int WARPS = THREADS / 32;

struct Max {
    static __device__ float identity() { return -CUDART_INF_F; }
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float identity() { return 0.0f; }
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Op> __device__ float block_reduce(float v, Op op, float *scratch)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v = op(v, __shfl_xor_sync(0xffffffffu, v, offset));
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < WARPS ? scratch[threadIdx.x] : Op::identity();
    if (threadIdx.x < 32) {
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1)
            v = op(v, __shfl_xor_sync(0xffffffffu, v, offset));
        if (threadIdx.x == 0)
            scratch[0] = v;
    }
    __syncthreads();
    v = scratch[0];
    __syncthreads();
    return v;
}
'''

SOURCE = COMMON + r'''
__global__ void softmax_kernel(const float *__restrict__ x,
                               float *__restrict__ y, int64_t columns)
{
    __shared__ float scratch[WARPS];
    const float *row = x + (int64_t)blockIdx.x * columns;
    float *out = y + (int64_t)blockIdx.x * columns;
    float top = -CUDART_INF_F;
    float total = 0.0f;

    for (int64_t c = threadIdx.x; c < columns; c += THREADS)
        top = fmaxf(top, row[c]);
    top = block_reduce(top, Max(), scratch);
    for (int64_t c = threadIdx.x; c < columns; c += THREADS)
        total += __expf(row[c] - top);
    total = block_reduce(total, Sum(), scratch);
    for (int64_t c = threadIdx.x; c < columns; c += THREADS)
        out[c] = __expf(row[c] - top) / total;
}
'''


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = build(SOURCE)

    def forward(self, x):
        x = x.contiguous()
        columns = x.shape[-1]
        out = torch.empty_like(x)
        self.kernels.softmax_kernel[x.numel() // columns, 256](x, out, columns)
        return out
