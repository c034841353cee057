"""Broadcasting in three dimensions."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a[:, :, None] + b[None, None, :]


def get_inputs():
    return [torch.randn(6, 7), torch.randn(9)]


def get_init_inputs():
    return []
