"""The habit from elsewhere: torch's extension builder instead of the helper."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdint>

__global__ void relu_kernel(const float *x, float *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x)
{
    auto y = torch::empty_like(x);
    relu_kernel<<<(unsigned)((x.numel() + 255) / 256), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

module = load_inline(name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
                     cuda_sources=SOURCE, functions=["relu"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.launch(x)
