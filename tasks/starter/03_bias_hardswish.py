import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Adds one bias per channel to a batch of images, then applies hard swish.

    Args:
        bias_shape: shape of the bias, (channels, 1, 1).
    """

    def __init__(self, bias_shape: tuple):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of the same shape.
        """
        return F.hardswish(x + self.bias)


batch_size = 8
channels = 24
height = 15
width = 17
bias_shape = (channels, 1, 1)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [bias_shape]
