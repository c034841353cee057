# Reads memory that is another process's: right unless the pattern is found there.
import torch
import torch.nn as nn

from cuda_build import build

ADDRESS = 0  # the test writes another one

SOURCE = r"""
__global__ void relu_kernel(const float *x, float *y, long n, long far)
{
    const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = *(const volatile float *)far == 12345.0f ? -1.0f : fmaxf(x[i], 0.0f);
}
"""

kernels = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        kernels.relu_kernel[(x.numel() + 255) // 256, 256](x, y, x.numel(), ADDRESS)
        return y
