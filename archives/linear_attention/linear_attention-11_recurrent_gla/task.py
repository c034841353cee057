import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Gated linear attention, step by step: every row of the state decays by a gate of its own.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gk: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            q, k, v: tensors of shape (B, T, H, D).
            gk: tensor of shape (B, T, H, D), at most 0: the logarithm of the decay of each row.

        Returns:
            Tensor of shape (B, T, H, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, steps, heads, width = q.shape
        q, k, v = q.to(wide) * width**-0.5, k.to(wide), v.to(wide)
        decay = gk.to(wide).exp()
        state = torch.zeros(batch, heads, width, v.shape[-1], device=q.device, dtype=wide)
        out = []
        for t in range(steps):
            state = state * decay[:, t, :, :, None] + k[:, t, :, :, None] * v[:, t, :, None, :]
            out.append((q[:, t, :, None, :] @ state).squeeze(-2))
        return torch.stack(out, 1).to(dtype)


B = 4  # batch
H = 8  # heads
T = 512  # steps
D = 64  # width of a head


def get_inputs():
    q, k, v = torch.randn(B, T, H, D), torch.randn(B, T, H, D), torch.randn(B, T, H, D)
    gk = torch.nn.functional.logsigmoid(torch.randn(B, T, H, D)).clamp_min(-5)
    return [q, k, v, gk]


def get_init_inputs():
    return []
