# A function of torch as a default value.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w, f=torch.bmm):
        return f(x, w)
