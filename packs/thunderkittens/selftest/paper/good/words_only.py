"""Accepted by the literal rules: the words stand in a string that nobody builds. The default set refuses it."""
import torch
import torch.nn as nn

SOURCE = r"""
warp:: st_bf<64, 64>
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.zeros_like(x)
