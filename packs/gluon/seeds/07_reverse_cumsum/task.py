import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Sum of each element and all that follow it along one dimension.

    Args:
        dim: the dimension.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length).

        Returns:
            Tensor of the same shape.
        """
        return torch.cumsum(x.flip(self.dim), dim=self.dim).flip(self.dim)


batch_size = 1001
length = 5008
dim = 1


def get_inputs():
    return [torch.randn(batch_size, length) + 0.1]


def get_init_inputs():
    return [dim]
