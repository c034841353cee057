"""Indices and a table."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, rows, features):
        super().__init__()
        self.table = nn.Embedding(rows, features)

    def forward(self, index):
        return self.table(index)


def get_inputs():
    return [torch.randint(0, 50, (4, 6))]


def get_init_inputs():
    return [50, 16]
