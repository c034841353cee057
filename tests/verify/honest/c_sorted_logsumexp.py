"""Adds small numbers first: the row is copied and sorted."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void sorted_logsumexp_kernel(const float *x, float *scratch, float *y, int64_t rows,
                             int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0.0f;
        memcpy(scratch, x + i * columns, sizeof(*x) * (size_t)columns);
        qsort(scratch, (size_t)columns, sizeof(*scratch), by_size);
        float top = scratch[columns - 1];
        for (int64_t j = 0; j < columns; j++)
            sum += expf(scratch[j] - top);
        y[i] = top + logf(sum);
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        if columns not in self.scratch:
            self.scratch[columns] = torch.empty(columns, dtype=torch.float32)
        y = torch.empty(rows, dtype=x.dtype)
        lib.sorted_logsumexp_kernel(x.contiguous(), self.scratch[columns], y, rows, columns)
        return y
