import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

void huber_rows_kernel(const float *x, const float *t, float *y, int64_t rows,
                       int64_t columns, float delta)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int64_t j = i * columns; j < (i + 1) * columns; j++) {
            float d = fabsf(x[j] - t[j]);
            sum += d <= delta ? 0.5f * d * d : delta * (d - 0.5f * delta);
        }
        y[i] = (float)(sum / (double)columns);
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, delta: float):
        super().__init__()
        self.delta = delta

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, t = predictions.contiguous(), targets.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        lib.huber_rows_kernel(x, t, y, rows, columns, self.delta)
        return y
