# An operator on an input is a warning: the names do not tell a tensor from a number.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, scale):
        out = torch.empty_like(x)
        launch_kernel(x, scale * 2, out)
        return out
