import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Based linear attention in its parallel form: causal attention whose weights are the second
    Taylor polynomial of exp, normalised by their sum.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """
        Args:
            q, k, v: tensors of shape (B, H, T, D).

        Returns:
            Tensor of shape (B, H, T, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        q, k, v = q.to(wide), k.to(wide), v.to(wide)
        x = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
        weight = (1 + x + x * x / 2).tril()
        out = weight @ v / (weight.sum(-1, keepdim=True) + 1e-6)
        return out.to(dtype)


B = 4  # batch
H = 8  # heads
T = 2048  # steps
D = 64  # width of a head


def get_inputs():
    return [torch.randn(B, H, T, D), torch.randn(B, H, T, D), torch.randn(B, H, T, D)]


def get_init_inputs():
    return []
