import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Cumulative sum of the elements that a mask selects, along one dimension.

    Args:
        dim: the dimension.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length).
            mask: tensor of the same shape and type bool.

        Returns:
            Tensor of the same shape.
        """
        return torch.cumsum(x * mask, dim=self.dim)


batch_size = 1000
length = 5000
dim = 1


def get_inputs():
    return [torch.randn(batch_size, length) + 0.2, torch.rand(batch_size, length) < 0.5]


def get_init_inputs():
    return [dim]
