"""Split along k with atomics; the tuner zeroes the output before each try."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"SPLIT": s, "K": 16}) for s in (2, 4)], key=["k"], reset_to_zero=["c"]
)
@triton.jit
def kernel(a, b, c, m, n, k, SPLIT: tl.constexpr, K: tl.constexpr):
    i, j, l = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, K)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for at in range(tl.program_id(0) * K, k, SPLIT * K):
        left = tl.load(a + i[:, None] * k + at + l[None, :])
        acc += tl.dot(left, tl.load(b + (at + l)[:, None] * n + j[None, :]), allow_tf32=False)
    tl.atomic_add(c + i[:, None] * n + j[None, :], acc)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        kernel[lambda meta: (meta["SPLIT"],)](a, b, c, a.shape[0], b.shape[1], a.shape[1])
        return c
