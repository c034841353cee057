# ModelNew is a function that makes the object, and the object is called.
import torch


class Relu:
    def __call__(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out


def ModelNew():
    return Relu()
