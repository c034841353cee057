# Softmax and sums as methods.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x.softmax(-1).sum(1).mean()
