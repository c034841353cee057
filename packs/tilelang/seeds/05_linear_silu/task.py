import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Linear layer with bias, followed by SiLU and a factor.

    Args:
        in_features: size of an input row.
        out_features: size of an output row.
        factor: what the result is multiplied by.
    """

    def __init__(self, in_features: int, out_features: int, factor: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, in_features).

        Returns:
            Tensor of shape (batch_size, out_features).
        """
        return F.silu(self.linear(x)) * self.factor


batch_size = 1500
in_features = 2072
out_features = 1960
factor = 1.25


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, factor]
