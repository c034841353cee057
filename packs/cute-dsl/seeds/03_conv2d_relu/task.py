import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    A convolution followed by ReLU.

    Args:
        in_channels: channels of the image.
        out_channels: channels of the result.
        kernel_size: side of the square window.
        stride: step between windows.
        padding: zeros around the image.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, in_channels, height, width).

        Returns:
            Tensor of shape (batch_size, out_channels, out_height, out_width).
        """
        return F.relu(self.conv(x))


batch_size = 16
in_channels = 40
out_channels = 100
height = 55
width = 57
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
