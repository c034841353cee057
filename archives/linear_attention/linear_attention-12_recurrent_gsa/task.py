import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Gated slot attention, step by step: keys and values are written to a fixed number of slots that
    forget, and the query attends to the slots.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, s: torch.Tensor, g: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            q, k, v: tensors of shape (B, T, H, D).
            s: tensor of shape (B, T, H, M), between 0 and 1: how much is written to each slot.
            g: tensor of shape (B, T, H, M), at most 0: the logarithm of each slot's decay.

        Returns:
            Tensor of shape (B, T, H, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, steps, heads, width = q.shape
        q, k, v = q.to(wide) * width**-0.5, k.to(wide), v.to(wide)
        s, decay = s.to(wide), g.to(wide).exp()
        keys = torch.zeros(batch, heads, width, s.shape[-1], device=q.device, dtype=wide)
        values = torch.zeros(batch, heads, s.shape[-1], v.shape[-1], device=q.device, dtype=wide)
        out = []
        for t in range(steps):
            keys = keys * decay[:, t, :, None, :] + k[:, t, :, :, None] * s[:, t, :, None, :]
            values = values * decay[:, t, :, :, None] + s[:, t, :, :, None] * v[:, t, :, None, :]
            p = torch.softmax(q[:, t, :, None, :] @ keys, -1)
            out.append((p @ values).squeeze(-2))
        return torch.stack(out, 1).to(dtype)


B = 4  # batch
H = 8  # heads
T = 512  # steps
D = 64  # width of a head
M = 64  # slots


def get_inputs():
    q, k, v = torch.randn(B, T, H, D), torch.randn(B, T, H, D), torch.randn(B, T, H, D)
    g = torch.nn.functional.logsigmoid(torch.randn(B, T, H, M))
    return [q, k, v, 1 - g.exp(), g]


def get_init_inputs():
    return []
