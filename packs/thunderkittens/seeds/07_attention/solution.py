import math

import torch
import torch.nn as nn

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int D = 64, ROWS = 64, GROUPS = 2, THREADS = GROUPS * WARPGROUP_THREADS;
using tile = st_bf<ROWS, D>;

template <typename T> struct attention_globals {
    static constexpr int PARTS = sizeof(T) == 4 ? 3 : 1; // fp32 = three bf16 numbers
    gl<bf16, PARTS, -1, -1, D, tile> q, k, v;            // (part, head, position, D)
    gl<T, 1, -1, -1, D, st<T, ROWS, D>> o;
    float scale;
};

/* d += a b or, with transposed b, a bt. The smallest products of parts come first, or their
 * sum is rounded off; those smaller than fp32 is exact are left out. */
template <int PARTS, typename A, typename B>
__device__ static inline void products(rt_fl<16, 64> &d, A (&a)[PARTS], B (&b)[PARTS], bool transposed)
{
#pragma unroll
    for (int i = PARTS - 1; i >= 0; i--)
#pragma unroll
        for (int j = PARTS - 1 - i; j >= 0; j--) {
            if (transposed)
                warpgroup::mma_ABt(d, a[i], b[j]);
            else
                warpgroup::mma_AB(d, a[i], b[j]);
            warpgroup::mma_async_wait();
        }
}

/* Each warpgroup has 64 queries and walks over all keys, 64 at a time, with the online
 * softmax. Keys and values come through TMA into two stages that all warpgroups share. */
template <typename T>
__global__ __launch_bounds__(THREADS, 1)
void attention_kernel(const __grid_constant__ attention_globals<T> g)
{
    constexpr int PARTS = attention_globals<T>::PARTS;
    using scores_tile = rt_fl<16, ROWS>;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    tile(&q)[GROUPS][PARTS] = al.allocate<tile, GROUPS, PARTS>();
    tile(&k)[2][PARTS] = al.allocate<tile, 2, PARTS>();
    tile(&v)[2][PARTS] = al.allocate<tile, 2, PARTS>();
    auto &out = reinterpret_cast<st<T, ROWS, D> &>(q[warpgroup::groupid()][0]);
    __shared__ semaphore q_arrived, arrived[2];
    const int head = blockIdx.y, group = warpgroup::groupid();
    const int first = blockIdx.x * GROUPS;
    const int keys = g.k.rows(), tiles = (keys + ROWS - 1) / ROWS;
    scores_tile s, taken;
    rt_bf<16, ROWS> p[PARTS];
    rt_fl<16, D> o;
    typename scores_tile::col_vec top, last, total; // one value for each query

    auto fetch = [&](int i) {
        tma::expect_bytes(arrived[i % 2], 2 * PARTS * sizeof(tile));
        for (int part = 0; part < PARTS; part++) {
            tma::load_async(k[i % 2][part], g.k, {part, head, i, 0}, arrived[i % 2]);
            tma::load_async(v[i % 2][part], g.v, {part, head, i, 0}, arrived[i % 2]);
        }
    };

    if (threadIdx.x == 0) {
        init_semaphore(q_arrived, 0, 1);
        init_semaphore(arrived[0], 0, 1);
        init_semaphore(arrived[1], 0, 1);
        tma::expect_bytes(q_arrived, GROUPS * PARTS * sizeof(tile));
        for (int i = 0; i < GROUPS; i++)
            for (int part = 0; part < PARTS; part++)
                tma::load_async(q[i][part], g.q, {part, head, first + i, 0}, q_arrived);
        fetch(0);
        if (tiles > 1)
            fetch(1);
    }
    __syncthreads();
    warp::zero(o);
    warp::zero(total);
    warp::neg_infty(top);
    wait(q_arrived, 0);
    for (int i = 0; i < tiles; i++) {
        wait(arrived[i % 2], i / 2 % 2);
        warp::zero(s);
        products<PARTS>(s, q[group], k[i % 2], true);
        warp::right_fill(s, s, keys - i * ROWS, base_types::constants<float>::neg_infty());
        warp::copy(last, top);
        warp::row_max(top, s, top);
        warp::sub(last, last, top);
        warp::mul(last, last, g.scale); // holds the factor log2(e) for exp2
        warp::exp2(last, last); // what older sums shrink by; 0 the first time
        warp::sub_row(s, s, top);
        warp::mul(s, s, g.scale);
        warp::exp2(s, s);
        warp::mul(total, total, last);
        warp::row_sum(total, s, total);
        warp::mul_row(o, o, last);
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            warp::copy(p[part], s);
            warp::copy(taken, p[part]);
            warp::sub(s, s, taken);
        }
        products<PARTS>(o, p, v[i % 2], false);
        __syncthreads(); // nobody reads this stage any more
        if (threadIdx.x == 0 && i + 2 < tiles)
            fetch(i + 2);
    }
    warp::div_row(o, o, total);
    warpgroup::store(out, o); // over the warpgroup's own queries
    warpgroup::sync(group + 1);
    if (warpgroup::laneid() == 0) {
        tma::store_async(g.o, out, {0, head, first + group, 0});
        tma::store_async_read_wait();
    }
}

template <typename T>
int launch(bf16 *q, bf16 *k, bf16 *v, T *o, size_t heads, size_t queries, size_t keys, float scale,
           cudaStream_t stream)
{
    constexpr int PARTS = attention_globals<T>::PARTS;
    attention_globals<T> g{{q, nullptr, heads, queries, nullptr},
                           {k, nullptr, heads, keys, nullptr},
                           {v, nullptr, heads, keys, nullptr},
                           {o, nullptr, heads, queries, nullptr},
                           scale * 1.44269504f};
    const dim3 grid((unsigned)((queries + GROUPS * ROWS - 1) / (GROUPS * ROWS)), (unsigned)heads);
    const int shared = (GROUPS + 4) * PARTS * sizeof(tile) + 1024;

    cudaFuncSetAttribute(attention_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    attention_kernel<T><<<grid, THREADS, shared, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_attention_bf16(bf16 *q, bf16 *k, bf16 *v, bf16 *o, int64_t heads,
                                     int64_t queries, int64_t keys, float scale, cudaStream_t stream)
{
    return launch<bf16>(q, k, v, o, heads, queries, keys, scale, stream);
}

extern "C" int launch_attention_f32(bf16 *q, bf16 *k, bf16 *v, float *o, int64_t heads,
                                    int64_t queries, int64_t keys, float scale, cudaStream_t stream)
{
    return launch<float>(q, k, v, o, heads, queries, keys, scale, stream);
}

__global__ void split_kernel(const float *x, bf16 *parts, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float rest = x[i];
        for (int part = 0; part < 3; part++) {
            parts[part * n + i] = __float2bfloat16(rest);
            rest -= __bfloat162float(parts[part * n + i]);
        }
    }
}

extern "C" int launch_split(float *x, bf16 *parts, int64_t n, cudaStream_t stream)
{
    split_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, parts, n);
    return (int)cudaGetLastError();
}
"""

kernels = build(SOURCE)


def split(x: torch.Tensor) -> torch.Tensor:
    parts = torch.empty(3, *x.shape, dtype=torch.bfloat16, device=x.device)
    kernels.launch_split(x, parts, x.numel())
    return parts


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        batch, heads, queries, dim = q.shape  # dim is 64, the width of the tiles
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        o = torch.empty_like(q)
        sizes = (batch * heads, queries, k.shape[2], 1.0 / math.sqrt(dim))
        if q.dtype == torch.float32:
            kernels.launch_attention_f32(split(q), split(k), split(v), o, *sizes)
        else:
            kernels.launch_attention_bf16(q, k, v, o, *sizes)
        return o
