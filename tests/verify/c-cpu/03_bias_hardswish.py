import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

void bias_hardswish_kernel(const float *restrict x, const float *restrict bias,
                           float *restrict y, int64_t batch, int64_t channels,
                           int64_t plane)
{
    for (int64_t i = 0; i < batch * channels; i++) {
        float b = bias[i % channels];
        for (int64_t j = i * plane; j < (i + 1) * plane; j++)
            y[j] = (x[j] + b) * clamp(x[j] + b + 3.0f, 0.0f, 6.0f) / 6.0f;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, bias_shape: tuple):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        batch, channels, height, width = x.shape
        lib.bias_hardswish_kernel(x, self.bias, y, batch, channels, height * width)
        return y
