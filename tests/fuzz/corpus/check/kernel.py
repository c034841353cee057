import torch
import torch.nn as nn
import lang
from lang.ops import add as plus


@lang.jit
def kernel(x, y, N: int = 4):
    plus(x, y)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)

    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(1,)](x, out)
        return out + f"{x!r:>{out}}"
