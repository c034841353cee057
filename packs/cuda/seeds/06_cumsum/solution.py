import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_bf16.h>
#include <cstdint>

constexpr int THREADS = 256, WARPS = THREADS / 32, EACH = 4, TILE = THREADS * EACH;

__device__ float to_float(float v) { return v; }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void put(float *to, float v) { *to = v; }
__device__ void put(__nv_bfloat16 *to, float v) { *to = __float2bfloat16(v); }

/* A block walks along a row in tiles of 1024: a thread sums four neighbours, a warp scans
 * its threads by shuffles, the block its warps, and `carry` is the sum of earlier tiles. */
template <typename T> __device__ void scan_body(const T *x, T *y, int columns)
{
    __shared__ float sums[WARPS];
    const T *row = x + (int64_t)blockIdx.x * columns;
    T *out = y + (int64_t)blockIdx.x * columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0.0f;

    for (int start = 0; start < columns; start += TILE) {
        const int first = start + threadIdx.x * EACH;
        float v[EACH], own = 0.0f;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            own += first + i < columns ? to_float(row[first + i]) : 0.0f;
            v[i] = own;
        }
        float up_to = own; // the sum of this thread and those before it in the warp
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float other = __shfl_up_sync(0xffffffff, up_to, step);
            if (lane >= step)
                up_to += other;
        }
        if (lane == 31)
            sums[warp] = up_to;
        __syncthreads();
        float before = carry + up_to - own;
        for (int w = 0; w < WARPS; w++) {
            before += w < warp ? sums[w] : 0.0f;
            carry += sums[w];
        }
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (first + i < columns)
                put(&out[first + i], before + v[i]);
        __syncthreads(); // before sums is written again
    }
}

__global__ void __launch_bounds__(THREADS)
scan_bf16(const __nv_bfloat16 *x, __nv_bfloat16 *y, int columns)
{
    scan_body(x, y, columns);
}

__global__ void __launch_bounds__(THREADS) scan_f32(const float *x, float *y, int columns)
{
    scan_body(x, y, columns);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        kernel = kernels.scan_f32 if x.dtype == torch.float32 else kernels.scan_bf16
        kernel[rows, 256](x, y, columns)
        return y
