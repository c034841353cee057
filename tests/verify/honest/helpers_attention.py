"""The kernel is put together from helpers that return several values."""
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl

NEG_INF: tl.constexpr = tl.constexpr(float("-inf"))


@triton.jit
def load_tile(ptr, base, rows, length, cols, DIM: tl.constexpr):
    return tl.load(
        ptr + base + rows[:, None] * DIM + cols[None, :], mask=rows[:, None] < length, other=0.0
    )


@triton.jit
def take_in(scores, v, top, total, acc):
    new = tl.maximum(top, tl.max(scores, 1))
    p = tl.exp(scores - new[:, None])
    shrink = tl.exp(top - new)
    acc = acc * shrink[:, None] + tl.dot(p, v, input_precision="ieee")
    return new, total * shrink + tl.sum(p, 1), acc


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, length, scale, DIM: tl.constexpr, BLOCK: tl.constexpr
):
    base = tl.program_id(1) * length * DIM
    d = tl.arange(0, DIM)
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = load_tile(q_ptr, base, m, length, d, DIM) * scale
    top = tl.full((BLOCK,), NEG_INF, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, DIM), tl.float32)
    for start in range(0, length, BLOCK):
        n = start + tl.arange(0, BLOCK)
        k = load_tile(k_ptr, base, n, length, d, DIM)
        v = load_tile(v_ptr, base, n, length, d, DIM)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        scores = tl.where(n[None, :] < length, scores, NEG_INF)
        top, total, acc = take_in(scores, v, top, total, acc)
    tl.store(
        y_ptr + base + m[:, None] * DIM + d[None, :], acc / total[:, None],
        mask=m[:, None] < length,
    )


class ModelNew(nn.Module):
    BLOCK = 32

    def __init__(self):
        super().__init__()

    def launch(self, q, k, v, y):
        batch, length, dim = q.shape
        attention_kernel[(triton.cdiv(length, self.BLOCK), batch)](
            q, k, v, y, length, 1.0 / math.sqrt(dim), DIM=dim, BLOCK=self.BLOCK, num_warps=4
        )
        return y

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return self.launch(Q.contiguous(), K.contiguous(), V.contiguous(), torch.empty_like(Q))
