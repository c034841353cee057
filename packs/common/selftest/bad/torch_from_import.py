# A function of torch imported by name.
import torch.nn as nn
from torch import matmul


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return matmul(x, w)
