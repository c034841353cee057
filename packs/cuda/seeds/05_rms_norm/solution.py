import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_bf16.h>
#include <cstdint>

constexpr int WARPS = 4;

__device__ float to_float(float v) { return v; }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void put(float *to, float v) { *to = v; }
__device__ void put(__nv_bfloat16 *to, float v) { *to = __float2bfloat16(v); }

/* A warp has a row and reads it in pieces of 16 bytes; the second reading comes from the
 * cache. The row's length is a multiple of the piece, so that every row is aligned. */
template <typename T>
__device__ void norm_body(const T *x, const T *weight, T *y, int64_t rows, int columns, float eps)
{
    constexpr int WIDTH = 16 / sizeof(T);
    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32, pieces = columns / WIDTH;

    if (row >= rows)
        return;
    const float4 *from = reinterpret_cast<const float4 *>(x + row * columns);
    const float4 *by = reinterpret_cast<const float4 *>(weight);
    float4 *to = reinterpret_cast<float4 *>(y + row * columns);
    float squares = 0.0f;

#pragma unroll 4
    for (int p = lane; p < pieces; p += 32) {
        const float4 piece = from[p];
        const T *v = reinterpret_cast<const T *>(&piece);
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            squares += to_float(v[i]) * to_float(v[i]);
    }
    for (int step = 16; step > 0; step /= 2)
        squares += __shfl_xor_sync(0xffffffff, squares, step);
    const float scale = rsqrtf(squares / columns + eps);

#pragma unroll 4
    for (int p = lane; p < pieces; p += 32) {
        const float4 piece = from[p], factor = by[p];
        const T *v = reinterpret_cast<const T *>(&piece);
        const T *w = reinterpret_cast<const T *>(&factor);
        float4 result;
        T *out = reinterpret_cast<T *>(&result);
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            put(&out[i], to_float(v[i]) * scale * to_float(w[i]));
        to[p] = result;
    }
}

__global__ void norm_bf16(const __nv_bfloat16 *x, const __nv_bfloat16 *weight, __nv_bfloat16 *y,
                          int64_t rows, int columns, float eps)
{
    norm_body(x, weight, y, rows, columns, eps);
}

__global__ void norm_f32(const float *x, const float *weight, float *y, int64_t rows, int columns,
                         float eps)
{
    norm_body(x, weight, y, rows, columns, eps);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]  # a multiple of 8
        rows = x.numel() // columns
        kernel = kernels.norm_f32 if x.dtype == torch.float32 else kernels.norm_bf16
        kernel[(rows + 3) // 4, 128](x, self.weight, y, rows, columns, self.eps)
        return y
