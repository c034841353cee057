# A vendor library by its file name.
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        lib = ctypes.CDLL('libcublas.so.12')
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
