import torch
import torch.nn as nn

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int WARPS = 4;

template <typename T, int LENGTH> struct norm_globals {
    using row_sv = sv<T, LENGTH>;
    gl<T, 1, 1, -1, -1, row_sv> x, y;
    gl<T, 1, 1, 1, -1, row_sv> weight;
    float eps;
};

/* The block's warps share the weight; each takes every (4 * gridDim.x)-th row. */
template <typename T, int LENGTH>
__global__ __launch_bounds__(WARPS * WARP_THREADS)
void norm_kernel(const __grid_constant__ norm_globals<T, LENGTH> g)
{
    using row_sv = sv<T, LENGTH>;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    row_sv(&rows)[WARPS] = al.allocate<row_sv, WARPS>();
    row_sv &weight = al.allocate<row_sv>();
    __shared__ semaphore arrived[WARPS], weight_arrived;
    const int w = warpid();
    int phase = 0;

    if (threadIdx.x == 0) {
        for (int i = 0; i < WARPS; i++)
            init_semaphore(arrived[i], 0, 1);
        init_semaphore(weight_arrived, 0, 1);
        tma::expect_bytes(weight_arrived, size_bytes<row_sv>);
        tma::load_async(weight, g.weight, {0, 0, 0, 0}, weight_arrived);
    }
    __syncthreads();
    wait(weight_arrived, 0);
    for (int row = blockIdx.x * WARPS + w; row < g.x.rows(); row += gridDim.x * WARPS) {
        rv_fl<LENGTH> v, other;
        float total;

        if (laneid() == 0) {
            tma::expect_bytes(arrived[w], size_bytes<row_sv>);
            tma::load_async(rows[w], g.x, {0, 0, row, 0}, arrived[w]);
        }
        wait(arrived[w], phase);
        phase ^= 1;
        warp::load(v, rows[w]); // zeros beyond the last column, which add nothing
        warp::mul(other, v, v);
        warp::sum(total, other);
        warp::mul(v, v, rsqrtf(total / g.x.cols() + g.eps));
        warp::load(other, weight);
        warp::mul(v, v, other);
        warp::store(rows[w], v);
        __syncwarp();
        if (laneid() == 0) {
            tma::store_async(g.y, rows[w], {0, 0, row, 0});
            tma::store_async_read_wait(); // before the next row comes to the same place
        }
        __syncwarp();
    }
}

template <typename T, int LENGTH>
int launch(T *x, T *weight, T *y, size_t rows, size_t cols, float eps, cudaStream_t stream)
{
    if constexpr (LENGTH < 4096)
        if (cols > LENGTH)
            return launch<T, 2 * LENGTH>(x, weight, y, rows, cols, eps, stream);
    norm_globals<T, LENGTH> g{{x, nullptr, nullptr, rows, cols},
                              {y, nullptr, nullptr, rows, cols},
                              {weight, nullptr, nullptr, nullptr, cols},
                              eps};
    const int shared = (WARPS + 1) * sizeof(sv<T, LENGTH>) + 1024;
    const size_t blocks = (rows + WARPS - 1) / WARPS;

    if (cols > LENGTH)
        return (int)cudaErrorInvalidValue;
    cudaFuncSetAttribute(norm_kernel<T, LENGTH>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    norm_kernel<T, LENGTH><<<(unsigned)(blocks < 1056 ? blocks : 1056), WARPS * WARP_THREADS,
                             shared, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_norm_bf16(bf16 *x, bf16 *weight, bf16 *y, int64_t rows, int64_t cols,
                                float eps, cudaStream_t stream)
{
    return launch<bf16, 512>(x, weight, y, rows, cols, eps, stream);
}

extern "C" int launch_norm_f32(float *x, float *weight, float *y, int64_t rows, int64_t cols,
                               float eps, cudaStream_t stream)
{
    return launch<float, 512>(x, weight, y, rows, cols, eps, stream);
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
        cols = x.shape[-1]  # a multiple of 8: TMA wants rows of a multiple of 16 bytes
        launch = kernels.launch_norm_f32 if x.dtype == torch.float32 else kernels.launch_norm_bf16
        launch(x, self.weight, y, x.numel() // cols, cols, self.eps)
        return y
