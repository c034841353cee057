import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Retention in chunks: within a chunk by masked scores with their decay, across chunks by a state
    that decays. Head h forgets by the factor 1 - 2^(-5-h) per step. There is no normaliser.
    """

    def __init__(self, chunk: int):
        super().__init__()
        self.chunk = chunk

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """
        Args:
            q, k, v: tensors of shape (B, T, H, D); T is a multiple of the chunk.

        Returns:
            Tensor of shape (B, T, H, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, steps, heads, width = q.shape
        q = (q.to(wide) * width**-0.5).transpose(1, 2)
        k, v = k.to(wide).transpose(1, 2), v.to(wide).transpose(1, 2)

        head = torch.arange(heads, device=q.device, dtype=wide)
        log_gamma = torch.log2(1 - torch.exp2(-5 - head))[:, None, None]
        i = torch.arange(self.chunk, device=q.device, dtype=wide)
        within = torch.exp2((i[:, None] - i[None, :]).clamp_min(0) * log_gamma).tril()
        entering = torch.exp2((i[:, None] + 1) * log_gamma)
        leaving = torch.exp2((self.chunk - 1 - i[:, None]) * log_gamma)
        across = torch.exp2(self.chunk * log_gamma)

        state = torch.zeros(batch, heads, width, width, device=q.device, dtype=wide)
        out = []
        for start in range(0, steps, self.chunk):
            q_n = q[:, :, start : start + self.chunk]
            k_n = k[:, :, start : start + self.chunk]
            v_n = v[:, :, start : start + self.chunk]
            scores = (q_n @ k_n.transpose(-1, -2)) * within
            out.append(scores @ v_n + (q_n * entering) @ state)
            state = across * state + (k_n * leaving).transpose(-1, -2) @ v_n
        return torch.cat(out, 2).transpose(1, 2).to(dtype)


B = 4  # batch
H = 8  # heads
T = 2048  # steps
D = 64  # width of a head
C = 64  # steps in a chunk

if T % C:
    raise ValueError(f"T = {T} is not a multiple of the chunk, C = {C}")


def get_inputs():
    # Outputs of order 1 for every T.
    return [torch.randn(B, T, H, D), torch.randn(B, T, H, D), torch.randn(B, T, H, D) * T**-0.5]


def get_init_inputs():
    return [C]
