import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void mse_kernel(const float *x, const float *t, float *y, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - t[i];
        sum += d * d;
    }
    *y = (float)(sum / (double)n);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, t = predictions.contiguous(), targets.contiguous()
        y = torch.empty((), dtype=x.dtype, device=x.device)
        lib.mse_kernel(x, t, y, x.numel())
        return y
