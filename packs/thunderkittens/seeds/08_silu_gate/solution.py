import torch
import torch.nn as nn

from tk_build import build

SOURCE = r"""
#include "kittens.cuh"
#include <cstdint>
using namespace kittens;

constexpr int ROWS = 16, COLS = 64, TILE = ROWS * COLS, WARPS = 4;

template <typename T> struct gate_globals {
    gl<T, 1, 1, -1, COLS> gate, value, y;
    int64_t n;
};

__device__ static inline float silu(float v) { return v / (1.0f + __expf(-v)); }

/* The tensors are taken for matrices with 64 columns: a tile is 1024 elements in a row of
 * memory. What is left behind the last whole tile is done element by element. */
template <typename T>
__global__ __launch_bounds__(WARPS * WARP_THREADS)
void gate_kernel(const __grid_constant__ gate_globals<T> g)
{
    const int tile = blockIdx.x * WARPS + warpid();
    const int64_t start = (int64_t)tile * TILE;
    rt_fl<ROWS, COLS> a, b;

    if (start + TILE <= g.n) {
        warp::load(a, g.gate, {0, 0, tile, 0}); // converts to fp32
        warp::load(b, g.value, {0, 0, tile, 0});
        warp::apply(a, a, [](int, int, float v) { return silu(v); });
        warp::mul(a, a, b);
        warp::store(g.y, a, {0, 0, tile, 0});
        return;
    }
    for (int64_t i = start + laneid(); i < g.n; i += WARP_THREADS) {
        const float v = silu(base_types::convertor<float, T>::convert(g.gate.raw_ptr[i]));
        const float w = base_types::convertor<float, T>::convert(g.value.raw_ptr[i]);
        g.y.raw_ptr[i] = base_types::convertor<T, float>::convert(v * w);
    }
}

template <typename T> int launch(T *gate, T *value, T *y, int64_t n, cudaStream_t stream)
{
    const size_t rows = (size_t)((n + COLS - 1) / COLS);
    gate_globals<T> g{{gate, nullptr, nullptr, rows, nullptr},
                      {value, nullptr, nullptr, rows, nullptr},
                      {y, nullptr, nullptr, rows, nullptr},
                      n};
    const int64_t tiles = (n + TILE - 1) / TILE;

    gate_kernel<T><<<(unsigned)((tiles + WARPS - 1) / WARPS), WARPS * WARP_THREADS, 0, stream>>>(g);
    return (int)cudaGetLastError();
}

extern "C" int launch_gate_bf16(bf16 *gate, bf16 *value, bf16 *y, int64_t n, cudaStream_t stream)
{
    return launch<bf16>(gate, value, y, n, stream);
}

extern "C" int launch_gate_f32(float *gate, float *value, float *y, int64_t n, cudaStream_t stream)
{
    return launch<float>(gate, value, y, n, stream);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        gate, value = gate.contiguous(), value.contiguous()
        y = torch.empty_like(gate)
        launch = kernels.launch_gate_f32 if gate.dtype == torch.float32 else kernels.launch_gate_bf16
        launch(gate, value, y, gate.numel())
        return y
