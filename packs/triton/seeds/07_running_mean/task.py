import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Mean of all elements up to and including each position of one dimension.

    Args:
        dim: the dimension.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length, features).

        Returns:
            Tensor of the same shape.
        """
        shape = [1] * x.dim()
        shape[self.dim] = -1
        count = torch.arange(1, x.shape[self.dim] + 1, device=x.device, dtype=x.dtype)
        return torch.cumsum(x, dim=self.dim) / count.view(shape)


batch_size = 3
length = 300
features = 20
dim = 1


def get_inputs():
    return [torch.randn(batch_size, length, features) + 0.5]


def get_init_inputs():
    return [dim]
