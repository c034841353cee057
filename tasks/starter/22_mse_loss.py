import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Mean squared difference between predictions and targets.
    """

    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        Args:
            predictions: tensor of any shape.
            targets: tensor of the same shape.

        Returns:
            A scalar.
        """
        return torch.mean((predictions - targets) ** 2)


batch_size = 60
dim = 500


def get_inputs():
    return [torch.rand(batch_size, dim), torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
