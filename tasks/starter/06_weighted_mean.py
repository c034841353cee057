import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Mean of each row under positive weights.
    """

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, num_features).
            weights: positive tensor of the same shape.

        Returns:
            Tensor of shape (batch_size,).
        """
        return (x * weights).sum(dim=1) / weights.sum(dim=1)


batch_size = 40
num_features = 600


def get_inputs():
    return [torch.randn(batch_size, num_features), torch.rand(batch_size, num_features)]


def get_init_inputs():
    return []
