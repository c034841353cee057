"""relu(x) + y on 16 x 64 register tiles, four warps a block."""
import torch
import torch.nn as nn

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int ROWS = 16, COLS = 64, WARPS = 4;

using tile_gl = gl<bf16, 1, 1, -1, -1>;

struct add_globals {
    tile_gl x, y, out;
};

__global__ __launch_bounds__(WARPS * WARP_THREADS)
void relu_add_kernel(const __grid_constant__ add_globals g)
{
    const int row = blockIdx.y * WARPS + warpid();
    rt_fl<ROWS, COLS> x, y;

    if (row * ROWS >= g.x.rows())
        return;
    warp::load(x, g.x, {0, 0, row, (int)blockIdx.x}); // converts to fp32
    warp::load(y, g.y, {0, 0, row, (int)blockIdx.x});
    warp::relu(x, x);
    warp::add(x, x, y);
    warp::store(g.out, x, {0, 0, row, (int)blockIdx.x});
}

extern "C" int launch_relu_add(bf16 *x, bf16 *y, bf16 *out, int64_t rows,
                               int64_t cols, cudaStream_t stream)
{
    const size_t r = (size_t)rows, c = (size_t)cols;
    add_globals g{tile_gl{x, nullptr, nullptr, r, c},
                  tile_gl{y, nullptr, nullptr, r, c},
                  tile_gl{out, nullptr, nullptr, r, c}};
    const dim3 grid((unsigned)(cols / COLS),
                    (unsigned)((rows / ROWS + WARPS - 1) / WARPS));

    relu_add_kernel<<<grid, WARPS * WARP_THREADS, 0, stream>>>(g);
    return (int)cudaGetLastError();
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        rows, cols = x.numel() // x.shape[-1], x.shape[-1]
        out = torch.empty_like(x)
        kernels.launch_relu_add(x.contiguous(), y.contiguous(), out, rows, cols)
        return out
