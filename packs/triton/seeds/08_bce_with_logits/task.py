import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Binary cross entropy between logits and probabilities, averaged over all elements.
    """

    def __init__(self):
        super().__init__()

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        Args:
            logits: tensor of any shape.
            targets: tensor of the same shape, each element in [0, 1].

        Returns:
            A scalar.
        """
        return F.binary_cross_entropy_with_logits(logits, targets)


batch_size = 70
num_labels = 430


def get_inputs():
    return [torch.randn(batch_size, num_labels) * 2.0, torch.rand(batch_size, num_labels)]


def get_init_inputs():
    return []
