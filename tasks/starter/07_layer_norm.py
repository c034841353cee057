import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Layer normalisation over the last dimension, with weight and bias.

    Args:
        dim: size of the last dimension.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length, dim).

        Returns:
            Tensor of the same shape.
        """
        return self.norm(x)


batch_size = 4
length = 12
dim = 384


def get_inputs():
    return [torch.rand(batch_size, length, dim)]


def get_init_inputs():
    return [dim]
