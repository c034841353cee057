# The class of a layer taken out of a list.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return [nn.ReLU][0]()(x)
