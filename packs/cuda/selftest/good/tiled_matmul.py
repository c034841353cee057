"""C = A B in bf16 with fp32 accumulation on tensor cores, 64 x 64 tiles in shared memory."""
import torch
import torch.nn as nn

import cuda_build

MATMUL_SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <cstdint>

using namespace nvcuda;

constexpr int BM = 64, BN = 64, BK = 32, PAD = 8;

/* Four warps; each owns a 32 x 32 quarter of the block's tile. Edges are
 * filled with zeros on the way in and dropped on the way out. */
__global__ void __launch_bounds__(128)
matmul_kernel(const __nv_bfloat16 *__restrict__ a,
              const __nv_bfloat16 *__restrict__ b, float *__restrict__ c,
              int m, int n, int k)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __nv_bfloat16(*as)[BK + PAD] = reinterpret_cast<__nv_bfloat16(*)[BK + PAD]>(smem);
    __nv_bfloat16(*bs)[BN + PAD] =
        reinterpret_cast<__nv_bfloat16(*)[BN + PAD]>(smem + sizeof(__nv_bfloat16) * BM * (BK + PAD));
    float(*cs)[BN] = reinterpret_cast<float(*)[BN]>(smem);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, wr = warp / 2 * 32, wc = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::fill_fragment(acc[i][j], 0.0f);
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int e = threadIdx.x; e < BM * BK; e += 128) {
            const int r = e / BK, q = e % BK;
            const bool in = row0 + r < m && k0 + q < k;
            as[r][q] = in ? a[(int64_t)(row0 + r) * k + k0 + q] : __float2bfloat16(0.0f);
        }
        for (int e = threadIdx.x; e < BK * BN; e += 128) {
            const int r = e / BN, q = e % BN;
            const bool in = k0 + r < k && col0 + q < n;
            bs[r][q] = in ? b[(int64_t)(k0 + r) * n + col0 + q] : __float2bfloat16(0.0f);
        }
        __syncthreads();
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb[2];
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(fa[i], &as[wr + 16 * i][kk], BK + PAD);
                wmma::load_matrix_sync(fb[i], &bs[kk][wc + 16 * i], BN + PAD);
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(&cs[wr + 16 * i][wc + 16 * j], acc[i][j], BN, wmma::mem_row_major);
    __syncthreads();
    for (int e = threadIdx.x; e < BM * BN; e += 128) {
        const int r = row0 + e / BN, q = col0 + e % BN;
        if (r < m && q < n)
            c[(int64_t)r * n + q] = cs[e / BN][e % BN];
    }
}

__global__ void narrow_kernel(const float *x, __nv_bfloat16 *y, int64_t count)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        y[i] = __float2bfloat16(x[i]);
}
"""

kernels = cuda_build.build(MATMUL_SOURCE)


def matmul(a, b):
    m, k = a.shape
    n = b.shape[1]
    wide = torch.empty((m, n), device=a.device, dtype=torch.float32)
    out = torch.empty((m, n), device=a.device, dtype=a.dtype)
    grid = ((n + 63) // 64, (m + 63) // 64)
    kernels.matmul_kernel[grid, 128, 4 * 64 * 64](a, b, wide, m, n, k)
    kernels.narrow_kernel[(m * n + 255) // 256, 256](wide, out, m * n)
    return out


class ModelNew(nn.Module):
    """Forward pass: one matrix product."""

    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return matmul(a.contiguous(), b.contiguous())
