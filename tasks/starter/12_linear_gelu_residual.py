import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    A linear layer and GELU, added to the layer's own input.

    Args:
        dim: features of input and output.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, dim).

        Returns:
            Tensor of the same shape.
        """
        return x + F.gelu(self.linear(x))


batch_size = 72
dim = 112


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
