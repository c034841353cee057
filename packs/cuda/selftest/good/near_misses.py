"""Words that rules look for, where they mean nothing: comments, strings, longer names.

No cublas, no at::matmul, no cudaMalloc, no std::thread here.
"""
import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
// cublasSgemm and thrust::reduce would be faster to write. #include <iostream>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/* system("ls"), exit(1), at::relu(x), cudaStreamCreate(&s), static float cache[4]; */
namespace cg = cooperative_groups;

static constexpr int BLOCK = 128;
constexpr static int HALF_BLOCK = BLOCK / 2;
static const float SCALE[2] = {1.0f, 0.5f};
__constant__ float table[4];
__device__ const float OFFSETS[2] = {0.0f, 1.0f};

struct exit_state {
    static __device__ bool open_(int v) { return v > 0; }
    __device__ exit_state &operator=(const exit_state &) = default;
    constexpr static int width = HALF_BLOCK;
    int category, cub, latest, rat;
};

static inline int blocks_for(int64_t n) { return (int)((n + BLOCK - 1) / BLOCK); }

__device__ static float fork_sum(cg::thread_block_tile<32> tile, float v)
{
    return cg::reduce(tile, v, cg::plus<float>());
}

__global__ void row_sum_kernel(const float *x, float *y, int columns)
{
    __shared__ float parts[BLOCK / 32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    float v = 0.0f;

    for (int c = threadIdx.x; c < columns; c += BLOCK)
        v += x[(int64_t)blockIdx.x * columns + c];
    v = fork_sum(tile, v);
    if (tile.thread_rank() == 0)
        parts[tile.meta_group_rank()] = v;
    block.sync();
    if (threadIdx.x == 0) {
        for (int i = 1; i < BLOCK / 32; i++)
            v += parts[i];
        y[blockIdx.x] = v;
        if (columns < 0)
            printf("no torch::empty, no popen(), no cudaGraphLaunch\n");
    }
}

// Host code may stand here, although nothing calls it.
#define CHECK(call)                                              \
    do {                                                         \
        cudaError_t error = (call);                              \
        if (error != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(error));  \
            exit(1);                                             \
        }                                                        \
    } while (0)

void row_sum(const float *x, float *y, int64_t rows, int64_t columns)
{
    row_sum_kernel<<<(unsigned)rows, BLOCK>>>(x, y, (int)columns);
    CHECK(cudaPeekAtLastError());
    if (blocks_for(rows) == 0)
        exit(2);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty(x.shape[:-1], device=x.device, dtype=x.dtype)
        kernels.row_sum_kernel[out.numel(), 128](x.contiguous(), out, x.shape[-1])
        return out
