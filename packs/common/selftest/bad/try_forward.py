# The fallback of a kernel that fails.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        try:
            launch_kernel(x, w, out)
        except Exception:
            launch_simple(x, w, out)
        return out
