import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

static double row_loss(const float *x, int64_t target, int64_t classes)
{
    float top = x[0];
    double sum = 0.0;

    for (int64_t j = 1; j < classes; j++)
        top = fmaxf(top, x[j]);
    for (int64_t j = 0; j < classes; j++)
        sum += exp((double)x[j] - top);
    return log(sum) + top - x[target];
}

void cross_entropy_kernel(const float *x, const int64_t *targets, float *y,
                          int64_t rows, int64_t classes)
{
    double sum = 0.0;

    for (int64_t i = 0; i < rows; i++)
        sum += row_loss(x + i * classes, targets[i], classes);
    *y = (float)(sum / (double)rows);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits, targets = logits.contiguous(), targets.contiguous()
        y = torch.empty((), dtype=logits.dtype, device=logits.device)
        lib.cross_entropy_kernel(logits, targets, y, logits.shape[0], logits.shape[1])
        return y
