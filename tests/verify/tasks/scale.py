"""Many elements, each on its own."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 3.0 + 1.0


def get_inputs():
    return [torch.rand(128, 1024)]


def get_init_inputs():
    return []
