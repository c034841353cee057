import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Cumulative sum along one dimension.

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
        return torch.cumsum(x, dim=self.dim)


batch_size = 24
length = 900
dim = 1


def get_inputs():
    return [torch.rand(batch_size, length)]


def get_init_inputs():
    return [dim]
