"""Two hundred small steps."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        for _ in range(200):
            x = 0.999 * x + 0.01
        return x


def get_inputs():
    return [torch.randn(64)]


def get_init_inputs():
    return []
