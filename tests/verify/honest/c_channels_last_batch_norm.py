"""Channels last on the way in and out; running statistics are written to a fresh
tensor and copied into the buffers."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void moments(const float *x, double *mean, double *square, int64_t n, int64_t c)
{
    for (int64_t j = 0; j < c; j++)
        mean[j] = square[j] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            mean[j] += x[i * c + j];
    for (int64_t j = 0; j < c; j++)
        mean[j] /= (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            square[j] += (x[i * c + j] - mean[j]) * (x[i * c + j] - mean[j]);
}

void batch_norm_kernel(const float *x, const float *weight, const float *bias, float *y,
                       float *state, const int64_t *seen, int64_t *count, int64_t n,
                       int64_t c, double momentum, double eps)
{
    double *mean = malloc(sizeof(*mean) * (size_t)(2 * c));
    double *square = mean + c;

    if (!mean)
        return;
    moments(x, mean, square, n, c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            y[i * c + j] = (float)((x[i * c + j] - mean[j]) / sqrt(square[j] / (double)n + eps)
                                   * weight[j] + bias[j]);
    for (int64_t j = 0; j < c; j++) {
        state[j] += (float)(momentum * (mean[j] - state[j]));
        state[c + j] += (float)(momentum * (square[j] / (double)(n - 1) - state[c + j]));
    }
    *count = *seen + 1;
    free(mean);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bn = self.norm
        last = x.permute(0, 2, 3, 1).contiguous()
        y = torch.empty_like(last)
        state = torch.stack((bn.running_mean, bn.running_var))
        count = torch.empty_like(bn.num_batches_tracked)
        lib.batch_norm_kernel(
            last, bn.weight, bn.bias, y, state, bn.num_batches_tracked, count,
            last.numel() // last.shape[-1], last.shape[-1], bn.momentum, bn.eps,
        )
        bn.running_mean.copy_(state[0])
        bn.running_var.copy_(state[1])
        bn.num_batches_tracked.copy_(count)
        return y.permute(0, 3, 1, 2)
