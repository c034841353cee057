import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Swish: each element times its own sigmoid.
    """

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of any shape.

        Returns:
            Tensor of the same shape.
        """
        return x * torch.sigmoid(x)


batch_size = 64
dim = 1000


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
