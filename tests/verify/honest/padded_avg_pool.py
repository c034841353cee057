"""The border is added beforehand, so that no window leaves the image."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def avg_pool_kernel(x_ptr, y_ptr, n, H, W, OH, OW, K: tl.constexpr, S: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    corner = (i // (OH * OW)) * H * W + ((i // OW) % OH) * S * W + (i % OW) * S
    acc = tl.zeros((B,), tl.float32)
    for p in range(K * K):
        acc += tl.load(x_ptr + corner + (p // K) * W + p % K, mask=mask, other=0.0)
    tl.store(y_ptr + i, acc * (1.0 / (K * K)), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k, s, p = self.pool.kernel_size, self.pool.stride, self.pool.padding
        x = F.pad(x, (p, p, p, p)).contiguous()
        b, c, h, w = x.shape
        oh, ow = (h - k) // s + 1, (w - k) // s + 1
        y = torch.empty((b, c, oh, ow), device=x.device, dtype=x.dtype)
        n = y.numel()
        avg_pool_kernel[(triton.cdiv(n, 1024),)](x, y, n, h, w, oh, ow, K=k, S=s, B=1024)
        return y
