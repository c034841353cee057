import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Huber loss of each sample: quadratic up to delta, linear beyond.

    Args:
        delta: where the loss becomes linear.
    """

    def __init__(self, delta: float):
        super().__init__()
        self.delta = delta

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        Args:
            predictions: tensor of shape (batch_size, dim).
            targets: tensor of the same shape.

        Returns:
            Tensor of shape (batch_size,), the mean of each row.
        """
        loss = F.huber_loss(predictions, targets, reduction="none", delta=self.delta)
        return loss.mean(dim=1)


batch_size = 48
dim = 400
delta = 0.8


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return [delta]
