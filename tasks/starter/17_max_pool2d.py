import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Largest element of each window of an image.

    Args:
        kernel_size: height and width of the window.
        stride: step of the window.
        padding: border on each side, which never holds the largest element.
    """

    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of shape (batch_size, channels, out_height, out_width).
        """
        return self.pool(x)


batch_size = 3
channels = 8
height = 30
width = 33
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding]
