import torch
import torch.nn as nn


class Model(nn.Module):
    """
    How far the largest element of each window of an image lies above the window's mean.

    Args:
        kernel_size: height and width of the window.
        stride: step of the window.
        padding: border on each side: never the largest element, zero in the mean.
    """

    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.largest = nn.MaxPool2d(kernel_size, stride=stride, padding=padding)
        self.mean = nn.AvgPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of shape (batch_size, channels, out_height, out_width).
        """
        return self.largest(x) - self.mean(x)


batch_size = 2
channels = 9
height = 25
width = 28
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding]
