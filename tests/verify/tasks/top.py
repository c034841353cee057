"""The largest three of a row, in order."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=1, descending=True).values[:, :3].contiguous()


def get_inputs():
    return [torch.randn(8, 32)]


def get_init_inputs():
    return []
