# Floor division, and arithmetic on sizes.
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        blocks = (n + 1023) // 1024
        half = x.shape[-1] // 2
        scale = 1.0 / math.sqrt(x.shape[-1])
        out = torch.empty_like(x)
        launch_kernel(x, out, n, half, scale, grid=(max(blocks, 1),))
        return out
