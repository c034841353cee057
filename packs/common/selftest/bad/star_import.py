# A star import hides what it brings.
import torch
import torch.nn as nn
from torch.nn.functional import *


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
