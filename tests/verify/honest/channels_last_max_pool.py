"""Works on images with the channels last and returns a view of such a result."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_pool_kernel(
    x_ptr, y_ptr, positions, H, W, OH, OW, C,
    K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr,
):
    i = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    image, oh, ow = i // (OH * OW), (i // OW) % OH, i % OW
    inside = (i[:, None] < positions) & (c[None, :] < C)
    best = tl.full((BP, BC), -float("inf"), tl.float32)
    for p in tl.static_range(K):
        h = oh * S - P + p
        for q in tl.static_range(K):
            w = ow * S - P + q
            ok = (h >= 0) & (h < H) & (w >= 0) & (w < W)
            at = ((image * H + h) * W + w)[:, None] * C + c[None, :]
            x = tl.load(x_ptr + at, mask=inside & ok[:, None], other=-float("inf"))
            best = tl.maximum(best, x)
    tl.store(y_ptr + i[:, None] * C + c[None, :], best, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.args = (kernel_size, stride, padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k, s, p = self.args
        b, c, h, w = x.shape
        oh, ow = ((n + 2 * p - k) // s + 1 for n in (h, w))
        x = x.permute(0, 2, 3, 1).contiguous()
        y = torch.empty((b, c, oh, ow), dtype=x.dtype, device=x.device,
                        memory_format=torch.channels_last)
        max_pool_kernel[(triton.cdiv(b * oh * ow, 256),)](
            x, y, b * oh * ow, h, w, oh, ow, c,
            K=k, S=s, P=p, BP=256, BC=triton.next_power_of_2(c),
        )
        return y
