"""Indices are read by the kernel."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(index, table, y, N: tl.constexpr):
    at, i = tl.program_id(0), tl.arange(0, N)
    row = tl.load(index + at)
    tl.store(y + at * N + i, tl.load(table + row * N + i))


class ModelNew(nn.Module):
    def __init__(self, rows, features):
        super().__init__()
        self.table = nn.Embedding(rows, features)

    def forward(self, index):
        features = self.table.embedding_dim
        y = self.table.weight.new_empty((*index.shape, features))
        kernel[(index.numel(),)](index, self.table.weight, y, N=features)
        return y
