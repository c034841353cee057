import torch
import torch.nn as nn


class Model(nn.Module):
    """
    SiLU of an input that is scaled and shifted feature by feature.

    Args:
        features: size of the last dimension.
    """

    def __init__(self, features: int):
        super(Model, self).__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.bias = nn.Parameter(torch.rand(features) - 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, features).

        Returns:
            Tensor of the same shape.
        """
        return torch.nn.functional.silu(x * self.weight + self.bias)


batch_size = 37
features = 515


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features]
