"""Two branches that are joined."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cat([torch.relu(x), torch.sigmoid(x)], dim=1)


def get_inputs():
    return [torch.randn(12, 40)]


def get_init_inputs():
    return []
