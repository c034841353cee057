import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Sum of two sequences, then layer normalisation over the features.

    Args:
        features: size of the last dimension.
    """

    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, length, features).
            residual: tensor of the same shape.

        Returns:
            Tensor of the same shape.
        """
        return self.norm(x + residual)


batch_size = 16
length = 510
features = 1000


def get_inputs():
    shape = (batch_size, length, features)
    return [torch.randn(shape), torch.randn(shape) + 0.5]


def get_init_inputs():
    return [features]
