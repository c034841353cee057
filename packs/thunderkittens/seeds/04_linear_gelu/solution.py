import torch
import torch.nn as nn
import torch.nn.functional as F

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4;
constexpr int THREADS = 2 * WARPGROUP_THREADS;
using x_tile = st_bf<64, BK>;
using w_tile = st_bf<BN, BK>;

struct stage_tiles {
    x_tile x[2];
    w_tile w;
};

template <typename T> struct linear_globals {
    gl<bf16, 1, 1, -1, -1, x_tile> x;
    gl<bf16, 1, 1, -1, -1, w_tile> w;
    const T *bias;
    T *y;
    int m, n;
};

/* Two warpgroups own 64 rows each of a 128 x 256 tile. One thread keeps four stages of
 * operands on their way. */
template <typename T>
__global__ __launch_bounds__(THREADS, 1)
void linear_kernel(const __grid_constant__ linear_globals<T> g)
{
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    stage_tiles(&tiles)[STAGES] = al.allocate<stage_tiles, STAGES>();
    __shared__ semaphore arrived[STAGES];
    const int half = warpgroup::groupid();
    const int row = blockIdx.y * 2, col = blockIdx.x;
    const int steps = (g.x.cols() + BK - 1) / BK;
    rt_fl<16, BN> acc; // 16 of the 64 rows for each warp

    auto fetch = [&](int step) {
        const int s = step % STAGES;
        tma::expect_bytes(arrived[s], sizeof(stage_tiles));
        tma::load_async(tiles[s].x[0], g.x, {0, 0, row, step}, arrived[s]);
        tma::load_async(tiles[s].x[1], g.x, {0, 0, row + 1, step}, arrived[s]);
        tma::load_async(tiles[s].w, g.w, {0, 0, col, step}, arrived[s]);
    };

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++)
            init_semaphore(arrived[s], 0, 1);
        for (int step = 0; step < STAGES && step < steps; step++)
            fetch(step);
    }
    __syncthreads();
    warp::zero(acc);
    for (int step = 0; step < steps; step++) {
        const int s = step % STAGES;
        wait(arrived[s], (step / STAGES) % 2);
        warpgroup::mma_ABt(acc, tiles[s].x[half], tiles[s].w); // w is (n, k), as nn.Linear keeps it
        warpgroup::mma_async_wait();
        __syncthreads(); // both warpgroups have read the stage
        if (threadIdx.x == 0 && step + STAGES < steps)
            fetch(step + STAGES);
    }

    const int r0 = blockIdx.y * BM + half * 64 + warpgroup::warpid() * 16, c0 = col * BN;
    warp::apply(acc, acc, [&](int r, int c, float v) {
        if (r0 + r < g.m && c0 + c < g.n) {
            v += base_types::convertor<float, T>::convert(g.bias[c0 + c]);
            v = 0.5f * v * (1.0f + erff(v * 0.70710678f));
            g.y[(int64_t)(r0 + r) * g.n + c0 + c] = base_types::convertor<T, float>::convert(v);
        }
        return v;
    });
}

template <typename T>
int launch(bf16 *x, bf16 *w, const T *bias, T *y, size_t m, size_t n, size_t k, cudaStream_t stream)
{
    linear_globals<T> g{
        {x, nullptr, nullptr, m, k}, {w, nullptr, nullptr, n, k}, bias, y, (int)m, (int)n};
    const dim3 grid((unsigned)((n + BN - 1) / BN), (unsigned)((m + BM - 1) / BM));
    const int shared = STAGES * sizeof(stage_tiles) + 1024;

    cudaFuncSetAttribute(linear_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    linear_kernel<T><<<grid, THREADS, shared, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_linear_bf16(bf16 *x, bf16 *w, bf16 *bias, bf16 *y, int64_t m, int64_t n,
                                  int64_t k, cudaStream_t stream)
{
    return launch<bf16>(x, w, bias, y, m, n, k, stream);
}

extern "C" int launch_linear_f32(bf16 *x, bf16 *w, float *bias, float *y, int64_t m, int64_t n,
                                 int64_t k, cudaStream_t stream)
{
    return launch<float>(x, w, bias, y, m, n, k, stream);
}

/* x = hi + lo in bf16. A row of y has three rows of x: hi, hi, lo or hi, lo, hi. */
__global__ void split_kernel(const float *x, bf16 *y, int64_t n, int64_t cols, int lo_at)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        const bf16 hi = __float2bfloat16(x[i]);
        const bf16 lo = __float2bfloat16(x[i] - __bfloat162float(hi));
        bf16 *to = y + i / cols * 3 * cols + i % cols;
        to[0] = hi;
        to[cols] = lo_at == 1 ? lo : hi;
        to[2 * cols] = lo_at == 2 ? lo : hi;
    }
}

extern "C" int launch_split(float *x, bf16 *y, int64_t rows, int64_t cols, int lo_at,
                            cudaStream_t stream)
{
    const int64_t n = rows * cols;

    split_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n, cols, lo_at);
    return (int)cudaGetLastError();
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w, bias = self.linear.weight, self.linear.bias
        m, k = x.shape
        n = w.shape[0]
        more = -k % 64  # a TMA tile must not pass the end of a row
        x = F.pad(x, (0, more)) if more else x.contiguous()
        w = F.pad(w, (0, more)) if more else w
        k += more
        y = torch.empty(m, n, dtype=x.dtype, device=x.device)
        if x.dtype == torch.float32:  # x w = hi hi + hi lo + lo hi, as one longer product
            x3 = torch.empty(m, 3 * k, dtype=torch.bfloat16, device=x.device)
            w3 = torch.empty(n, 3 * k, dtype=torch.bfloat16, device=x.device)
            kernels.launch_split(x, x3, m, k, 2)
            kernels.launch_split(w, w3, n, k, 1)
            kernels.launch_linear_f32(x3, w3, bias, y, m, n, 3 * k)
        else:
            kernels.launch_linear_bf16(x, w, bias, y, m, n, k)
        return y
