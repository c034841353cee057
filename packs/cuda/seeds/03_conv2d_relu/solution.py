import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_bf16.h>
#include <mma.h>
#include <cstdint>

using namespace nvcuda;
typedef __nv_bfloat16 bf16;

constexpr int BM = 64, BN = 128, BK = 32, LD = BK + 8, THREADS = 256; // channels, pixels, depth
constexpr int OUT = 20; // row length of a warp's 16 x 16 results

__device__ float to_float(float v) { return v; }
__device__ float to_float(bf16 v) { return __bfloat162float(v); }
__device__ void put(float *to, float v) { *to = v; }
__device__ void put(bf16 *to, float v) { *to = __float2bfloat16(v); }

/* One value to the tiles: as bf16, and fp32 as hi and lo. */
template <int PARTS, int SIZE> __device__ void keep(bf16 (*to)[SIZE], int at, float v)
{
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
        to[p][at] = __float2bfloat16(v);
        v -= __bfloat162float(to[p][at]);
    }
}

/* The implicit GEMM: y[channel, pixel] = sum over k of weight[channel, k] * patch[pixel, k]
 * with k = (c, kh, kw). A block has 64 channels and 128 pixels of one image. */
template <typename T>
__device__ void conv_body(const T *x, const T *weight, const T *bias, T *y, int c_in, int h_in,
                          int w_in, int oc, int oh, int ow, int kh, int kw, int stride, int pad)
{
    constexpr int PARTS = sizeof(T) == 4 ? 2 : 1;
    __shared__ __align__(32) bf16 weights[PARTS][BM * LD], patches[PARTS][BN * LD];
    const int pixels = oh * ow, depth = c_in * kh * kw;
    const int channel0 = blockIdx.y * BM, pixel0 = blockIdx.x * BN;
    const int pixel = pixel0 + threadIdx.x % BN; // neighbours read neighbouring pixels
    const int top = pixel / ow * stride - pad, left = pixel % ow * stride - pad;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wr = warp / 4 * 32, wc = warp % 4 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];

    x += (int64_t)blockIdx.z * c_in * h_in * w_in;
    y += (int64_t)blockIdx.z * oc * pixels;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++)
            wmma::fill_fragment(acc[i][j], 0.0f);
    for (int k0 = 0; k0 < depth; k0 += BK) {
        for (int e = threadIdx.x; e < BM * BK; e += THREADS) {
            const int r = e / BK, k = k0 + e % BK;
            const bool in = channel0 + r < oc && k < depth;
            keep<PARTS>(weights, r * LD + e % BK,
                        in ? to_float(weight[(int64_t)(channel0 + r) * depth + k]) : 0.0f);
        }
#pragma unroll 4
        for (int e = threadIdx.x / BN; e < BK; e += THREADS / BN) {
            const int k = k0 + e, c = k / (kh * kw), window = k % (kh * kw);
            const int h = top + window / kw, w = left + window % kw;
            const bool in = pixel < pixels && k < depth && h >= 0 && h < h_in && w >= 0 && w < w_in;
            keep<PARTS>(patches, threadIdx.x % BN * LD + e,
                        in ? to_float(x[((int64_t)c * h_in + h) * w_in + w]) : 0.0f);
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < PARTS; p++)
#pragma unroll
            for (int q = 0; p + q < PARTS; q++) // lo times lo is too small to matter
#pragma unroll
                for (int kk = 0; kk < BK; kk += 16) {
                    wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> a[2];
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::col_major> b[2];
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        wmma::load_matrix_sync(a[i], &weights[p][(wr + i * 16) * LD + kk], LD);
                        wmma::load_matrix_sync(b[i], &patches[q][(wc + i * 16) * LD + kk], LD);
                    }
#pragma unroll
                    for (int i = 0; i < 2; i++)
#pragma unroll
                        for (int j = 0; j < 2; j++)
                            wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
                }
        __syncthreads();
    }

    float *mine = reinterpret_cast<float *>(patches) + warp * 16 * OUT;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            wmma::store_matrix_sync(mine, acc[i][j], OUT, wmma::mem_row_major);
            __syncwarp();
            for (int e = lane; e < 256; e += 32) {
                const int r = channel0 + wr + i * 16 + e / 16, c = pixel0 + wc + j * 16 + e % 16;
                if (r < oc && c < pixels)
                    put(&y[(int64_t)r * pixels + c],
                        fmaxf(mine[e / 16 * OUT + e % 16] + to_float(bias[r]), 0.0f));
            }
            __syncwarp();
        }
}

__global__ void __launch_bounds__(THREADS)
conv_bf16(const bf16 *x, const bf16 *weight, const bf16 *bias, bf16 *y, int c_in, int h_in, int w_in,
          int oc, int oh, int ow, int kh, int kw, int stride, int pad)
{
    conv_body(x, weight, bias, y, c_in, h_in, w_in, oc, oh, ow, kh, kw, stride, pad);
}

__global__ void __launch_bounds__(THREADS)
conv_f32(const float *x, const float *weight, const float *bias, float *y, int c_in, int h_in,
         int w_in, int oc, int oh, int ow, int kh, int kw, int stride, int pad)
{
    conv_body(x, weight, bias, y, c_in, h_in, w_in, oc, oh, ow, kh, kw, stride, pad);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n, c, h, w = x.shape
        oc, _, kh, kw = self.conv.weight.shape
        stride, pad = self.conv.stride[0], self.conv.padding[0]
        oh, ow = (h + 2 * pad - kh) // stride + 1, (w + 2 * pad - kw) // stride + 1
        y = torch.empty(n, oc, oh, ow, dtype=x.dtype, device=x.device)
        kernel = kernels.conv_f32 if x.dtype == torch.float32 else kernels.conv_bf16
        grid = ((oh * ow + 127) // 128, (oc + 63) // 64, n)
        kernel[grid, 256](x, self.conv.weight, self.conv.bias, y, c, h, w, oc, oh, ow, kh, kw, stride, pad)
        return y
