# C++ sources built by torch, where ATen can be called.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline('ext', 'int f() { return 0; }')


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
