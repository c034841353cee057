import torch
import torch.nn as nn
import torch.nn.functional as F

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int BM = 64, BN = 128, BK = 64; // output channels, pixels, depth
using weight_tile = st_bf<BM, BK>;
using patch_tile = st_bf<BN, BK>;

struct shape {
    int c, h, w, oc, oh, ow, kh, kw, stride, pad;
};

template <typename T> struct conv_globals {
    static constexpr int PARTS = sizeof(T) == 4 ? 2 : 1; // fp32 = hi + lo
    gl<bf16, 1, PARTS, -1, -1, weight_tile> weight;
    const T *x, *bias;
    T *y;
    shape s;
};

/* One warpgroup computes 64 channels of 128 pixels of one image:
 * y[channel, pixel] = sum over k of weight[channel, k] * patch[pixel, k], k = (c, kh, kw). */
template <typename T>
__global__ __launch_bounds__(WARPGROUP_THREADS)
void conv_kernel(const __grid_constant__ conv_globals<T> g)
{
    constexpr int PARTS = conv_globals<T>::PARTS;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    weight_tile(&weight)[PARTS] = al.allocate<weight_tile, PARTS>();
    patch_tile(&patch)[PARTS] = al.allocate<patch_tile, PARTS>();
    __shared__ semaphore arrived;
    const shape &s = g.s;
    const int pixels = s.oh * s.ow, depth = s.c * s.kh * s.kw;
    const int pixel = blockIdx.x * BN + threadIdx.x; // a thread gathers one row of the patches
    const int top = pixel / s.ow * s.stride - s.pad, left = pixel % s.ow * s.stride - s.pad;
    const T *image = g.x + (int64_t)blockIdx.z * s.c * s.h * s.w;
    const int steps = (depth + BK - 1) / BK;
    rt_fl<16, BN> acc;

    if (threadIdx.x == 0)
        init_semaphore(arrived, 0, 1);
    __syncthreads();
    warp::zero(acc);
    for (int step = 0; step < steps; step++) {
        if (threadIdx.x == 0) {
            tma::expect_bytes(arrived, PARTS * sizeof(weight_tile));
            for (int p = 0; p < PARTS; p++)
                tma::load_async(weight[p], g.weight, {0, p, (int)blockIdx.y, step}, arrived);
        }
        for (int k0 = 0; k0 < BK; k0 += 8) { // 8 values are one 16-byte piece of a swizzled row
            __align__(16) bf16 piece[PARTS][8];
            for (int i = 0; i < 8; i++) {
                const int k = step * BK + k0 + i;
                const int c = k / (s.kh * s.kw), window = k % (s.kh * s.kw);
                const int h = top + window / s.kw, w = left + window % s.kw;
                float v = 0.0f;
                if (pixel < pixels && k < depth && h >= 0 && h < s.h && w >= 0 && w < s.w)
                    v = base_types::convertor<float, T>::convert(
                        image[((int64_t)c * s.h + h) * s.w + w]);
                piece[0][i] = __float2bfloat16(v);
                if constexpr (PARTS == 2)
                    piece[1][i] = __float2bfloat16(v - __bfloat162float(piece[0][i]));
            }
            for (int p = 0; p < PARTS; p++)
                *(float4 *)&patch[p][int2{(int)threadIdx.x, k0}] = *(float4 *)piece[p];
        }
        warpgroup::mma_fence(); // what threads wrote must be visible to the tensor cores
        __syncthreads();
        wait(arrived, step % 2);
        for (int i = 0; i < PARTS; i++)
            for (int j = 0; i + j < PARTS; j++) { // lo times lo is too small to matter
                warpgroup::mma_ABt(acc, weight[i], patch[j]);
                warpgroup::mma_async_wait();
            }
        __syncthreads(); // before the tiles are filled again
    }

    const int oc0 = blockIdx.y * BM + warpid() * 16, p0 = blockIdx.x * BN;
    T *y = g.y + (int64_t)blockIdx.z * s.oc * pixels;
    warp::apply(acc, acc, [&](int r, int c, float v) {
        if (oc0 + r < s.oc && p0 + c < pixels) {
            v += base_types::convertor<float, T>::convert(g.bias[oc0 + r]);
            y[(int64_t)(oc0 + r) * pixels + p0 + c] =
                base_types::convertor<T, float>::convert(fmaxf(v, 0.0f));
        }
        return v;
    });
}

template <typename T>
int launch(const T *x, bf16 *weight, const T *bias, T *y, int n, size_t rows, size_t cols, shape s,
           cudaStream_t stream)
{
    constexpr int PARTS = conv_globals<T>::PARTS;
    conv_globals<T> g{{weight, nullptr, nullptr, rows, cols}, x, bias, y, s};
    const dim3 grid((s.oh * s.ow + BN - 1) / BN, (s.oc + BM - 1) / BM, n);
    const int shared = PARTS * (sizeof(weight_tile) + sizeof(patch_tile)) + 1024;

    cudaFuncSetAttribute(conv_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    conv_kernel<T><<<grid, WARPGROUP_THREADS, shared, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_conv_bf16(bf16 *x, bf16 *weight, bf16 *bias, bf16 *y, int n, int c, int h,
                                int w, int oc, int oh, int ow, int kh, int kw, int stride, int pad,
                                int64_t rows, int64_t cols, cudaStream_t stream)
{
    return launch<bf16>(x, weight, bias, y, n, rows, cols,
                        {c, h, w, oc, oh, ow, kh, kw, stride, pad}, stream);
}

extern "C" int launch_conv_f32(float *x, bf16 *weight, float *bias, float *y, int n, int c, int h,
                               int w, int oc, int oh, int ow, int kh, int kw, int stride, int pad,
                               int64_t rows, int64_t cols, cudaStream_t stream)
{
    return launch<float>(x, weight, bias, y, n, rows, cols,
                         {c, h, w, oc, oh, ow, kh, kw, stride, pad}, stream);
}

__global__ void split_kernel(const float *x, bf16 *hi, bf16 *lo, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        hi[i] = __float2bfloat16(x[i]);
        lo[i] = __float2bfloat16(x[i] - __bfloat162float(hi[i]));
    }
}

extern "C" int launch_split(float *x, bf16 *hi_lo, int64_t n, cudaStream_t stream)
{
    split_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, hi_lo, hi_lo + n, n);
    return (int)cudaGetLastError();
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
        weight = self.conv.weight.reshape(oc, -1)
        weight = F.pad(weight, (0, -weight.shape[1] % 64))  # whole tiles of 64 columns
        sizes = (n, c, h, w, oc, oh, ow, kh, kw, stride, pad, oc, weight.shape[1])
        if x.dtype == torch.float32:
            parts = torch.empty(2, *weight.shape, dtype=torch.bfloat16, device=x.device)
            kernels.launch_split(weight, parts, weight.numel())
            kernels.launch_conv_f32(x, parts, self.conv.bias, y, *sizes)
        else:
            kernels.launch_conv_bf16(x, weight, self.conv.bias, y, *sizes)
        return y
