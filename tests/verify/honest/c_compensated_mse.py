"""One number, summed with compensation and kept in double until the end."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

/* Compensated: what an addition loses is added to the next. */
void mse_kernel(const float *x, const float *t, double *mean, int64_t n)
{
    double sum = 0.0, lost = 0.0;

    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - t[i];
        double term = d * d - lost;
        double next = sum + term;
        lost = next - sum - term;
        sum = next;
    }
    *mean = sum / (double)n;
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, t = predictions.contiguous(), targets.contiguous()
        mean = torch.empty((), dtype=torch.float64, device=x.device)
        lib.mse_kernel(x, t, mean, x.numel())
        return mean.to(x.dtype)
