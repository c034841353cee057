import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Divides each row by the root of its mean square and scales each feature.

    Args:
        features: size of the last dimension.
        eps: added to the mean square.
    """

    def __init__(self, features: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(features) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length, features).

        Returns:
            Tensor of the same shape.
        """
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.weight


batch_size = 16
length = 511
features = 1008
eps = 1e-5


def get_inputs():
    return [torch.randn(batch_size, length, features) * 1.5]


def get_init_inputs():
    return [features, eps]
