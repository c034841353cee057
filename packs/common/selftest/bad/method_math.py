# Element-wise methods, some in place.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x.relu().mul_(2.0).add(1.0)
