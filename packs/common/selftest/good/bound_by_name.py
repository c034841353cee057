# ModelNew is another name for a class, and forward a function that it is given.
import torch
import torch.nn as nn


def run(self, x):
    out = torch.empty_like(x)
    launch_kernel(x, out)
    return out


class Relu(nn.Module):
    forward = run


ModelNew: type[nn.Module] = Relu
