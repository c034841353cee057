# The seed of the whole process.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(42)
        torch.set_default_dtype(torch.float64)

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
