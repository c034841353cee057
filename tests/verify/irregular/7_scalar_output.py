import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

void smooth_l1_kernel(const float *x, const float *t, float *y, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)x[i] - t[i]);
        sum += d < 1.0 ? 0.5 * d * d : d - 0.5;
    }
    *y = (float)(sum / (double)n);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        y = torch.empty(())
        lib.smooth_l1_kernel(predictions.contiguous(), targets.contiguous(), y, targets.numel())
        return y
