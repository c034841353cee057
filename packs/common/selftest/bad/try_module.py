# A choice made at import time by an error.
import torch
import torch.nn as nn

try:
    launch_kernel(None, None, None)
    FAST = True
except Exception:
    FAST = False


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
