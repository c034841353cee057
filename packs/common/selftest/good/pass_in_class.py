# An empty class of the file's own is harmless.
import torch
import torch.nn as nn


class ShapeError(ValueError):
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        if x.dim() != 2:
            raise ShapeError("two dimensions wanted")
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out
