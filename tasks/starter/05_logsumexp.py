import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Logarithm of the sum of exponentials of each row.
    """

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, num_features).

        Returns:
            Tensor of shape (batch_size,).
        """
        return torch.logsumexp(x, dim=1)


batch_size = 60
num_features = 500


def get_inputs():
    return [torch.randn(batch_size, num_features) * 3.0]


def get_init_inputs():
    return []
