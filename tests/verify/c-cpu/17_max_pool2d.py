import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

struct shape {
    int64_t height, width, out_height, out_width, window, stride, padding;
};

static float window_max(const struct shape *s, const float *x, int64_t top, int64_t left)
{
    float best = -INFINITY;

    for (int64_t h = top < 0 ? 0 : top; h < top + s->window && h < s->height; h++)
        for (int64_t w = left < 0 ? 0 : left; w < left + s->window && w < s->width; w++)
            best = fmaxf(best, x[h * s->width + w]);
    return best;
}

void max_pool2d_kernel(const float *x, float *y, int64_t planes, int64_t height,
                       int64_t width, int64_t out_height, int64_t out_width,
                       int64_t window, int64_t stride, int64_t padding)
{
    struct shape s = {height, width, out_height, out_width, window, stride, padding};

    for (int64_t p = 0; p < planes; p++)
        for (int64_t h = 0; h < out_height; h++)
            for (int64_t w = 0; w < out_width; w++)
                *y++ = window_max(&s, x + p * height * width, h * stride - padding,
                                  w * stride - padding);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        out_height = (height + 2 * self.padding - self.kernel_size) // self.stride + 1
        out_width = (width + 2 * self.padding - self.kernel_size) // self.stride + 1
        y = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
        lib.max_pool2d_kernel(
            x, y, batch * channels, height, width, out_height, out_width,
            self.kernel_size, self.stride, self.padding,
        )
        return y
