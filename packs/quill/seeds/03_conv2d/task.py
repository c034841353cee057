import torch
import torch.nn as nn


class Model(nn.Module):
    """
    A 2D convolution with bias.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the window.
        stride: step of the window.
        padding: zeros added on each side.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0):
        super(Model, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, in_channels, height, width).

        Returns:
            Tensor of shape (batch_size, out_channels, out_height, out_width).
        """
        return self.conv(x)


batch_size = 2
in_channels = 6
out_channels = 10
kernel_size = 3
stride = 1
padding = 1
height = 30
width = 37


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
