import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void look_kernel(const float *x, float *mean, float *top, int64_t *place, float *last,
                 int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * columns;
        double sum = 0.0;
        place[i] = 0;
        for (int64_t j = 0; j < columns; j++) {
            sum += row[j];
            if (row[j] > row[place[i]])
                place[i] = j;
        }
        mean[i] = (float)(sum / (double)columns);
        top[i] = row[place[i]];
        last[i] = row[columns - 1] * 2.0f;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        rows, columns = x.shape
        mean, top, last = (torch.empty(rows) for _ in range(3))
        place = torch.empty(rows, dtype=torch.int64)
        lib.look_kernel(x.contiguous(), mean, top, place, last, rows, columns)
        return mean, (top, {"places": place, "last": last})
