import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Divides each row by its root mean square and multiplies it by a weight.

    Args:
        features: length of the last dimension.
        eps: added to the mean square.
    """

    def __init__(self, features: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length, features).

        Returns:
            Tensor of the same shape.
        """
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


batch_size = 8
length = 1021
features = 1544
eps = 1e-5


def get_inputs():
    return [torch.randn(batch_size, length, features)]


def get_init_inputs():
    return [features, eps]
