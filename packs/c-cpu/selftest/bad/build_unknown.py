"""The source is made at run time."""
import torch
import torch.nn as nn
from c_cpu import build


def source():
    lines = []
    lines.append("void relu_kernel(const float *x, float *y, long n)")
    lines.append("{ for (long i = 0; i < n; i++) y[i] = x[i]; }")
    return " ".join(lines)


lib = build(source())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
