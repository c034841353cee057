"""A table of functions; the one to use is chosen by number."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

#define EACH(X) X(sigmoid, 1.0f / (1.0f + expf(-x))) X(swish, x / (1.0f + expf(-x)))

#define DEFINE(name, value) \
    static float name(float x) \
    { \
        return value; \
    }
EACH(DEFINE)

typedef float (*function)(float);
#define ENTRY(name, value) name,
static const function table[] = {EACH(ENTRY)};

void apply_kernel(const float *x, float *y, int64_t n, int which)
{
    function f = table[which];

    for (int64_t i = 0; i < n; i++)
        y[i] = f(x[i]);
}
"""

lib = build(SOURCE)
SIGMOID, SWISH = range(2)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1).contiguous()
        y = torch.empty_like(flat)
        lib.apply_kernel(flat, y, flat.numel(), SWISH)
        return y.view(x.shape)
