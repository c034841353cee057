import math

import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct shape {
    int64_t length, dim;
    float scale;
};

static float dot(const float *restrict a, const float *restrict b, int64_t n)
{
    float sum = 0.0f;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One query against all keys; `p` is room for a score each. */
static void attend(const struct shape *s, const float *q, const float *k, const float *v,
                   float *restrict y, float *restrict p)
{
    float top = -INFINITY;
    double total = 0.0;

    for (int64_t j = 0; j < s->length; j++) {
        p[j] = dot(q, k + j * s->dim, s->dim) * s->scale;
        top = fmaxf(top, p[j]);
    }
    for (int64_t j = 0; j < s->length; j++) {
        p[j] = expf(p[j] - top);
        total += p[j];
    }
    for (int64_t d = 0; d < s->dim; d++)
        y[d] = 0.0f;
    for (int64_t j = 0; j < s->length; j++) {
        float share = (float)(p[j] / total);
        for (int64_t d = 0; d < s->dim; d++)
            y[d] += share * v[j * s->dim + d];
    }
}

void attention_kernel(const float *q, const float *k, const float *v, float *y,
                      int64_t batch, int64_t length, int64_t dim, float scale)
{
    struct shape s = {length, dim, scale};
    float *p = malloc(sizeof(*p) * (size_t)length);

    for (int64_t b = 0; p && b < batch; b++) {
        int64_t base = b * length * dim;
        for (int64_t i = 0; i < length; i++)
            attend(&s, q + base + i * dim, k + base, v + base, y + base + i * dim, p);
    }
    free(p);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        Q, K, V = Q.contiguous(), K.contiguous(), V.contiguous()
        batch, length, dim = Q.shape
        Y = torch.empty_like(Q)
        lib.attention_kernel(Q, K, V, Y, batch, length, dim, 1.0 / math.sqrt(dim))
        return Y
