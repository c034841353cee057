import math

import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_bf16.h>
#include <math_constants.h>
#include <cstdint>

typedef __nv_bfloat16 bf16;

constexpr int D = 64, TILE = 64, LD = D + 8, THREADS = 128; // four warps with 16 queries each

__device__ float to_float(float v) { return v; }
__device__ float to_float(bf16 v) { return __bfloat162float(v); }
__device__ void put2(float *to, float x, float y) { *reinterpret_cast<float2 *>(to) = make_float2(x, y); }
__device__ void put2(bf16 *to, float x, float y)
{
    *reinterpret_cast<__nv_bfloat162 *>(to) = __floats2bfloat162_rn(x, y);
}

template <bool TRANSPOSED> __device__ void load4(uint32_t (&r)[4], const bf16 *p)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(p);

    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}

__device__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Two numbers as bf16; what that leaves out stays in them. */
__device__ uint32_t pack(float &x, float &y)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);

    x -= __bfloat162float(both.x);
    y -= __bfloat162float(both.y);
    return *reinterpret_cast<const uint32_t *>(&both);
}

/* 64 rows from `first` on to shared memory, as one bf16 tile or, of fp32, as three. */
template <int PARTS, typename T>
__device__ void fill(bf16 (*to)[TILE * LD], const T *from, int first, int rows)
{
    for (int i = threadIdx.x; i < TILE * D; i += THREADS) {
        const int r = i / D, c = i % D;
        float v = first + r < rows ? to_float(from[(int64_t)(first + r) * D + c]) : 0.0f;
        for (int p = 0; p < PARTS; p++) {
            const bf16 part = __float2bfloat16(v);
            to[p][r * LD + c] = part;
            v -= __bfloat162float(part);
        }
    }
}

/* A block has 64 queries of one head and walks over the keys with the online softmax. A
 * thread's values of an m16n8 tile lie in the rows lane / 4 and lane / 4 + 8. */
template <typename T>
__device__ void attention_body(const T *q, const T *k, const T *v, T *o, int queries, int keys,
                               float scale)
{
    constexpr int PARTS = sizeof(T) == 4 ? 3 : 1; // fp32 = three bf16 numbers
    extern __shared__ __align__(16) unsigned char memory[];
    bf16(*qs)[TILE * LD] = reinterpret_cast<bf16(*)[TILE * LD]>(memory);
    bf16(*ks)[TILE * LD] = qs + PARTS, (*vs)[TILE * LD] = ks + PARTS;
    const int64_t head = blockIdx.y;
    const int first = blockIdx.x * TILE, lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
    float out[8][4] = {}, top[2] = {-CUDART_INF_F, -CUDART_INF_F}, total[2] = {};

    q += head * queries * D, o += head * queries * D;
    k += head * keys * D, v += head * keys * D;
    fill<PARTS>(qs, q, first, queries);
    for (int key0 = 0; key0 < keys; key0 += TILE) {
        float s[8][4] = {};
        fill<PARTS>(ks, k, key0, keys);
        fill<PARTS>(vs, v, key0, keys);
        __syncthreads();
#pragma unroll
        for (int i = PARTS - 1; i >= 0; i--) // the smallest products first, or their sum is rounded off
#pragma unroll
            for (int j = PARTS - 1 - i; j >= 0; j--)
#pragma unroll
                for (int d = 0; d < D; d += 16) {
                    uint32_t a[4], b[4];
                    load4<false>(a, qs[i] + (row + lane % 16) * LD + d + lane / 16 * 8);
#pragma unroll
                    for (int t = 0; t < 8; t += 2) { // 16 keys: rows of k are columns of its transpose
                        load4<false>(b, ks[j] + (t * 8 + lane / 16 * 8 + lane % 8) * LD + d + lane / 8 % 2 * 8);
                        mma(s[t], a, b[0], b[1]);
                        mma(s[t + 1], a, b[2], b[3]);
                    }
                }
#pragma unroll
        for (int h = 0; h < 2; h++) { // the thread's two rows, each shared by four lanes
            float high = top[h], sum = 0.0f;
#pragma unroll
            for (int t = 0; t < 8; t++)
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; e++) {
                    const int key = key0 + t * 8 + lane % 4 * 2 + e % 2;
                    if (key >= keys)
                        s[t][e] = -CUDART_INF_F;
                    high = fmaxf(high, s[t][e]);
                }
            high = fmaxf(high, __shfl_xor_sync(0xffffffff, high, 1));
            high = fmaxf(high, __shfl_xor_sync(0xffffffff, high, 2));
            const float shrink = __expf((top[h] - high) * scale); // 0 the first time
#pragma unroll
            for (int t = 0; t < 8; t++)
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; e++) {
                    s[t][e] = __expf((s[t][e] - high) * scale);
                    sum += s[t][e];
                    out[t][e] *= shrink;
                }
            total[h] = total[h] * shrink + sum; // of this lane's keys; lanes are added at the end
            top[h] = high;
        }
#pragma unroll
        for (int t = 0; t < 8; t += 2) { // two tiles of scores are one operand of 16 keys
            uint32_t p[4], b[4];
#pragma unroll
            for (int i = 0; i < PARTS; i++) {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    p[e] = pack(s[t + e / 2][e % 2 * 2], s[t + e / 2][e % 2 * 2 + 1]);
#pragma unroll
                for (int j = 0; i + j < PARTS; j++)
#pragma unroll
                    for (int d = 0; d < 8; d += 2) {
                        load4<true>(b, vs[j] + (t * 8 + lane % 16) * LD + d * 8 + lane / 16 * 8);
                        mma(out[d], p, b[0], b[1]);
                        mma(out[d + 1], p, b[2], b[3]);
                    }
            }
        }
        __syncthreads(); // before keys and values are overwritten
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        total[h] += __shfl_xor_sync(0xffffffff, total[h], 1);
        total[h] += __shfl_xor_sync(0xffffffff, total[h], 2);
        const int r = first + row + lane / 4 + 8 * h;
        if (r < queries)
#pragma unroll
            for (int t = 0; t < 8; t++)
                put2(o + (int64_t)r * D + t * 8 + lane % 4 * 2, out[t][2 * h] / total[h],
                     out[t][2 * h + 1] / total[h]);
    }
}

__global__ void __launch_bounds__(THREADS)
attention_bf16(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *o, int queries, int keys, float scale)
{
    attention_body(q, k, v, o, queries, keys, scale);
}

__global__ void __launch_bounds__(THREADS)
attention_f32(const float *q, const float *k, const float *v, float *o, int queries, int keys,
              float scale)
{
    attention_body(q, k, v, o, queries, keys, scale);
}
"""

kernels = build(SOURCE)
TILE_BYTES = 64 * 72 * 2


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        batch, heads, queries, dim = q.shape  # dim is 64
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        o = torch.empty_like(q)
        exact = q.dtype == torch.float32
        kernel = kernels.attention_f32 if exact else kernels.attention_bf16
        shared = 3 * TILE_BYTES * (3 if exact else 1)
        grid = ((queries + 63) // 64, batch * heads)
        kernel[grid, 128, shared](q, k, v, o, queries, k.shape[2], 1.0 / math.sqrt(dim))
        return o
