# The reference may stand in the file with its inputs, as long as nothing uses it.
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return F.relu(torch.matmul(self.lin(x), x.t())).softmax(-1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.lin.weight, self.lin.bias, out)
        return out


def get_inputs():
    return [torch.randn(batch, 8)]


def get_init_inputs():
    return []
