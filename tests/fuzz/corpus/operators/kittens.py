import torch
import torch.nn as nn
import torch.nn.functional as F

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int WARPS = 4;

template <typename T, int LENGTH> struct softmax_globals {
    using row_sv = sv<T, LENGTH>;
    gl<T, 1, 1, -1, -1, row_sv> x, y;
    float factor;
};

/* A warp has a row. TMA fills what lies beyond the last column with zeros, and drops it
 * when it stores. */
template <typename T, int LENGTH>
__global__ __launch_bounds__(WARPS * WARP_THREADS)
void softmax_kernel(const __grid_constant__ softmax_globals<T, LENGTH> g)
{
    using row_sv = sv<T, LENGTH>;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    row_sv(&rows)[WARPS] = al.allocate<row_sv, WARPS>();
    __shared__ semaphore arrived[WARPS];
    const int w = warpid(), row = blockIdx.x * WARPS + w;
    const int cols = g.x.cols();
    rv_fl<LENGTH> v; // lane l holds the elements l, l + 32, l + 64, …
    float top, total;

    if (laneid() == 0)
        init_semaphore(arrived[w], 0, 1);
    __syncthreads();
    if (row >= g.x.rows())
        return;
    if (laneid() == 0) {
        tma::expect_bytes(arrived[w], size_bytes<row_sv>);
        tma::load_async(rows[w], g.x, {0, 0, row, 0}, arrived[w]);
    }
    wait(arrived[w], 0);
    warp::load(v, rows[w]); // converts to fp32
    warp::apply(v, v, [&](int i, float s) {
        return i < cols ? s * g.factor : base_types::constants<float>::neg_infty();
    });
    warp::max(top, v);
    warp::sub(v, v, top);
    warp::exp(v, v);
    warp::sum(total, v);
    warp::mul(v, v, 1.0f / total);
    warp::store(rows[w], v);
    __syncwarp();
    if (laneid() == 0) {
        tma::store_async(g.y, rows[w], {0, 0, row, 0});
        tma::store_async_read_wait();
    }
}

template <typename T, int LENGTH>
int launch(T *x, T *y, size_t rows, size_t cols, float factor, cudaStream_t stream)
{
    if constexpr (LENGTH < 4096)
        if (cols > LENGTH)
            return launch<T, 2 * LENGTH>(x, y, rows, cols, factor, stream);
    softmax_globals<T, LENGTH> g{
        {x, nullptr, nullptr, rows, cols}, {y, nullptr, nullptr, rows, cols}, factor};
    const int shared = WARPS * sizeof(sv<T, LENGTH>) + 1024;
    const unsigned blocks = (unsigned)((rows + WARPS - 1) / WARPS);

    if (cols > LENGTH)
        return (int)cudaErrorInvalidValue;
    cudaFuncSetAttribute(softmax_kernel<T, LENGTH>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    softmax_kernel<T, LENGTH><<<blocks, WARPS * WARP_THREADS, shared, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_softmax_bf16(bf16 *x, bf16 *y, int64_t rows, int64_t cols, float factor,
                                   cudaStream_t stream)
{
    return launch<bf16, 512>(x, y, rows, cols, factor, stream);
}

extern "C" int launch_softmax_f32(float *x, float *y, int64_t rows, int64_t cols, float factor,
                                  cudaStream_t stream)
{
    return launch<float, 512>(x, y, rows, cols, factor, stream);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape, cols = x.shape, x.shape[-1]
        x = x.reshape(-1, cols).contiguous()
        if cols % 8:  # TMA wants rows of a multiple of 16 bytes
            padded = F.pad(x, (0, -cols % 8), value=float("-inf"))
            return self.rows(padded)[:, :cols].reshape(shape)
        return self.rows(x).view(shape)

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        launch = kernels.launch_softmax_f32 if x.dtype == torch.float32 else kernels.launch_softmax_bf16
        launch(x, y, x.shape[0], x.shape[1], 1.0 / self.temperature)
        return y
