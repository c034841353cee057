"""Words that the rules look for, where they are harmless."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
/* __asm__, system(), #include <stdio.h> and _Float16 in a comment are words. */
#include <float.h>
#include <limits.h>
  #  include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char note[] = "asm system( #pragma omp __attribute__((constructor))";

struct section {
    int64_t weak, target;
} __attribute__((aligned(16), unused));

__attribute__((always_inline)) static inline float exit_value(float v)
{
    return v > 0 ? v : 0;
}

static float reopen(float v)
{
    return exit_value(v) + (note[0] == 'a' ? 0 : 1);
}

void
relu_kernel(const float *x, float *y, int64_t n)
{
    struct section section = {0, n};
    int64_t i = section.weak;
#pragma GCC unroll 4
    while (i < section.target) {
        y[i] = reopen(x[i]);
        i++;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
