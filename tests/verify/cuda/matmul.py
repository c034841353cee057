"""C = A B in fp32: 64 x 64 tiles in shared memory, 4 x 4 values a thread."""
import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>

constexpr int TILE = 64, DEPTH = 16, EACH = 4;
constexpr int SIDE = TILE / EACH, THREADS = SIDE * SIDE;

/* Edges are filled with zeros on the way in and dropped on the way out. */
__global__ void __launch_bounds__(THREADS)
matmul_kernel(const float *__restrict__ a, const float *__restrict__ b,
              float *__restrict__ c, int m, int n, int k)
{
    __shared__ float as[DEPTH][TILE + 1], bs[DEPTH][TILE];
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    const int tr = threadIdx.x / SIDE * EACH, tc = threadIdx.x % SIDE * EACH;
    float acc[EACH][EACH] = {};

    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
            const int r = row0 + e / DEPTH, q = k0 + e % DEPTH;
            as[e % DEPTH][e / DEPTH] = r < m && q < k ? a[(int64_t)r * k + q] : 0.0f;
        }
        for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
            const int q = k0 + e / TILE, col = col0 + e % TILE;
            bs[e / TILE][e % TILE] = q < k && col < n ? b[(int64_t)q * n + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DEPTH; q++)
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    acc[i][j] += as[q][tr + i] * bs[q][tc + j];
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
            if (row0 + tr + i < m && col0 + tc + j < n)
                c[(int64_t)(row0 + tr + i) * n + col0 + tc + j] = acc[i][j];
}
"""

TILE, THREADS = 64, 256
kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        m, k = a.shape
        n = b.shape[1]
        c = torch.empty((m, n), device=a.device, dtype=a.dtype)
        grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
        kernels.matmul_kernel[grid, THREADS](a, b, c, m, n, k)
        return c
