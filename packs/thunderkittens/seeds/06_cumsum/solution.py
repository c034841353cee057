import torch
import torch.nn as nn
import torch.nn.functional as F

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int ROWS = 16, COLS = 64;

template <typename T> struct scan_globals {
    gl<T, 1, 1, -1, -1> x, y;
};

/* A warp walks along 16 rows in tiles of 64 columns. The running sums of a tile are its
 * product with a triangle of ones; what came before is carried as one value a row. */
template <typename T>
__global__ __launch_bounds__(WARP_THREADS)
void scan_kernel(const __grid_constant__ scan_globals<T> g)
{
    using tile = rt_fl<ROWS, COLS>;
    const int row = blockIdx.x, tiles = g.x.cols() / COLS;
    rt_bf<COLS, COLS, ducks::rt_layout::col> ones; // mma_AB wants B in column layout
    rt_bf<ROWS, COLS> part;
    tile x, next, whole, sums;
    typename tile::col_vec carry; // one value for each row

    warp::apply(ones, ones, [](int r, int c, bf16) {
        return r <= c ? base_types::constants<bf16>::one() : base_types::constants<bf16>::zero();
    });
    warp::zero(carry);
    warp::load(next, g.x, {0, 0, row, 0});
    for (int i = 0; i < tiles; i++) {
        warp::copy(x, next);
        if (i + 1 < tiles)
            warp::load(next, g.x, {0, 0, row, i + 1}); // on its way while this tile is summed
        warp::broadcast_row(sums, carry);
        warp::row_sum(carry, x, carry);
        /* fp32 is the sum of three bf16 values, bf16 of one; products with 1 are exact. */
        for (int p = 0; p < (sizeof(T) == 4 ? 3 : 1); p++) {
            warp::copy(part, x);
            warp::mma_AB(sums, part, ones, sums);
            warp::copy(whole, part);
            warp::sub(x, x, whole);
        }
        warp::store(g.y, sums, {0, 0, row, i});
    }
}

template <typename T> int launch(T *x, T *y, size_t rows, size_t cols, cudaStream_t stream)
{
    scan_globals<T> g{{x, nullptr, nullptr, rows, cols}, {y, nullptr, nullptr, rows, cols}};

    scan_kernel<T><<<(unsigned)(rows / ROWS), WARP_THREADS, 0, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_scan_bf16(bf16 *x, bf16 *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    return launch<bf16>(x, y, rows, cols, stream);
}

extern "C" int launch_scan_f32(float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    return launch<float>(x, y, rows, cols, stream);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, cols = x.shape
        more_rows, more_cols = -rows % 16, -cols % 64
        padded = more_rows or more_cols
        x = F.pad(x, (0, more_cols, 0, more_rows)) if padded else x.contiguous()
        y = torch.empty_like(x)
        launch = kernels.launch_scan_f32 if x.dtype == torch.float32 else kernels.launch_scan_bf16
        launch(x, y, x.shape[0], x.shape[1])
        return y[:rows, :cols]
