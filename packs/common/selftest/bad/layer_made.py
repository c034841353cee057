# A layer made and called in forward.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return nn.Softmax(dim=-1)(x)
