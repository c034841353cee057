import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    A linear layer, GELU, a factor for each output feature and an upper bound.

    Args:
        in_features: features of the input.
        out_features: features of the output.
        limit: the upper bound.
    """

    def __init__(self, in_features: int, out_features: int, limit: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.randn(out_features))
        self.limit = limit

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, in_features).

        Returns:
            Tensor of shape (batch_size, out_features).
        """
        return torch.clamp(F.gelu(self.linear(x)) * self.scale, max=self.limit)


batch_size = 90
in_features = 200
out_features = 70
limit = 1.5


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, limit]
