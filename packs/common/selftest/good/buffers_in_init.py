# Tables that depend on no input may be computed by the constructor.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        rate = torch.pow(10000.0, -torch.arange(0, dim, 2).float() / dim)
        angle = torch.outer(torch.arange(length).float(), rate)
        self.register_buffer("sin", torch.sin(angle).mul(2.0))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("window", torch.fft.fft(torch.ones(dim)).abs())
        self.total = float(rate.sum())

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.sin, self.cos, self.window, self.total, out)
        return out
