# Functions that no short list of names contains.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Parameter(torch.zeros(4))

    def forward(self, x, w):
        y = torch.addmm(self.b, x, w)
        y = torch.cumsum(y, 1)
        return torch.exp(y)
