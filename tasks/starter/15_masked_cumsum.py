import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Cumulative sum along one dimension of the elements that a mask selects.

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
            mask: boolean tensor of the same shape; False counts as zero.

        Returns:
            Tensor of shape (batch_size, length).
        """
        return torch.cumsum(x * mask, dim=self.dim)


batch_size = 32
length = 600
dim = 1


def get_inputs():
    return [torch.rand(batch_size, length), torch.rand(batch_size, length) > 0.5]


def get_init_inputs():
    return [dim]
