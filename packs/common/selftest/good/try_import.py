# A try around an import at module level is allowed.
import torch
import torch.nn as nn

try:
    from collections.abc import Sequence
except ImportError:
    Sequence = None


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out
