import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Linear layer with bias, followed by GELU (tanh approximation).

    Args:
        in_features: size of an input row.
        out_features: size of an output row.
    """

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, in_features).

        Returns:
            Tensor of shape (batch_size, out_features).
        """
        return F.gelu(self.linear(x), approximate="tanh")


batch_size = 700
in_features = 1030
out_features = 1500


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
