# Scratch memory that grows, is given back and is taken again, in structs and lists.
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#define _GNU_SOURCE
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
    struct chunk *next;
    int64_t at, n;
    alignas(64) float data[];
};

static int by_value(const void *a, const void *b)
{
    float u = *(const float *)a, v = *(const float *)b;

    return (u > v) - (u < v);
}

void relu_kernel(const float *x, float *y, int64_t n)
{
    struct chunk *list = NULL;
    int64_t room = 16, *seen = calloc(1, sizeof(*seen));

    for (int64_t i = 0; i < n; i += room) {
        struct chunk *c = aligned_alloc(64, (sizeof(*c) + (size_t)room * sizeof(float) + 63) / 64 * 64);
        float *sorted = malloc((size_t)room * sizeof(float));

        *c = (struct chunk){list, i, n - i < room ? n - i : room};
        memcpy(c->data, x + i, (size_t)c->n * sizeof(float));
        memcpy(sorted, c->data, (size_t)c->n * sizeof(float));
        qsort(sorted, (size_t)c->n, sizeof(float), by_value);
        for (int64_t k = 0; k < c->n; k++)
            c->data[k] = sorted[c->n - 1] > 0 && c->data[k] > 0 ? c->data[k] : 0;
        free(sorted);
        list = c;
        seen = realloc(seen, sizeof(*seen) * (size_t)(i / room + 2));
        seen[i / room + 1] = seen[i / room] + c->n;
    }
    while (list) {
        struct chunk *next = list->next;

        memcpy(y + list->at, list->data, (size_t)list->n * sizeof(float));
        free(list);
        list = next;
    }
    free(seen);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
