import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

#define LANES 8

static float row_max(const float *restrict x, int64_t n)
{
    float lane[LANES];
    int64_t j = 0;

    for (int l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
    for (; j < n; j++)
        lane[0] = x[j] > lane[0] ? x[j] : lane[0];
    for (int l = 1; l < LANES; l++)
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

static float exp_and_sum(const float *restrict x, float *restrict y,
                         float max, int64_t n)
{
    float lane[LANES] = {0};
    float sum = 0;
    int64_t j = 0;

    for (; j + LANES <= n; j += LANES) {
        for (int l = 0; l < LANES; l++) {
            y[j + l] = expf(x[j + l] - max);
            lane[l] += y[j + l];
        }
    }
    for (; j < n; j++) {
        y[j] = expf(x[j] - max);
        lane[0] += y[j];
    }
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

void softmax_rows_kernel(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * cols;
        float *out = y + i * cols;
        float scale = 1.0f / exp_and_sum(in, out, row_max(in, cols), cols);

        for (int64_t j = 0; j < cols; j++)
            out[j] *= scale;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.softmax_rows_kernel(x, y, x.shape[0], x.shape[1])
        return y
