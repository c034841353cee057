# A computation at import time.
import torch
import torch.nn as nn

TABLE = torch.sin(torch.linspace(0, 1, 64))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
