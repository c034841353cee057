"""The work is done by an algorithm of the toolkit's library."""
import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <thrust/device_ptr.h>
#include <thrust/transform.h>
#include <cuda_runtime.h>
#include <cstdint>

__global__ void relu_kernel(const float *x, float *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = fmaxf(x[i], 0.0f);
}

struct relu {
    __device__ float operator()(float v) const { return v > 0.0f ? v : 0.0f; }
};

extern "C" void launch_relu(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    relu_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
    thrust::transform(thrust::device, x, x + n, y, relu());
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        kernels.launch_relu(x.contiguous(), out, x.numel())
        return out
