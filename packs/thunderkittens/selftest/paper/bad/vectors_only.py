"""A kernel on vectors: genuine, but Table 5 knows only st_ and rt_ tiles."""
import torch
import torch.nn as nn

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

struct relu_globals {
    using vec_gl = gl<bf16, 1, 1, -1, -1>;
    vec_gl x, out;
};

__global__ void relu_kernel(const __grid_constant__ relu_globals g)
{
    rv_fl<64> v;

    warp::load(v, g.x, {0, 0, (int)blockIdx.y, (int)blockIdx.x});
    warp::relu(v, v);
    warp::store(g.out, v, {0, 0, (int)blockIdx.y, (int)blockIdx.x});
}

extern "C" void launch_relu(bf16 *x, bf16 *out, int64_t rows, int64_t cols, cudaStream_t stream)
{
    using vec_gl = relu_globals::vec_gl;
    const size_t r = (size_t)rows, c = (size_t)cols;
    relu_globals g{vec_gl{x, nullptr, nullptr, r, c}, vec_gl{out, nullptr, nullptr, r, c}};

    relu_kernel<<<dim3((unsigned)(c / 64), (unsigned)(r)), WARP_THREADS, 0, stream>>>(g);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        kernels.launch_relu(x.contiguous(), out, x.numel() // x.shape[-1], x.shape[-1])
        return out
