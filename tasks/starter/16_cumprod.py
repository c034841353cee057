import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Cumulative product along one dimension.

    Args:
        dim: the dimension.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length), its elements near one.

        Returns:
            Tensor of the same shape.
        """
        return torch.cumprod(x, dim=self.dim)


batch_size = 16
length = 250
dim = 1


def get_inputs():
    return [torch.rand(batch_size, length) * 0.2 + 0.9]


def get_init_inputs():
    return [dim]
