"""An input that is not contiguous."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2 + 1


def get_inputs():
    return [torch.randn(40, 12).t()]


def get_init_inputs():
    return []
