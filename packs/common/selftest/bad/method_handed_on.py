# A method of a tensor is handed to a function that calls it.
import torch.nn as nn


def call(f, *arguments):
    return f(*arguments)


class ModelNew(nn.Module):
    def forward(self, x, w):
        return call(x.matmul, w)
