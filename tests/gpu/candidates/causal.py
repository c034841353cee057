"""Causal attention as levels 3/43, 44 and 50 of KernelBench have it. Positions are masked by their
index, not by the mask that the task keeps in a buffer. tests/gpu/run.py sets the two constants."""

import torch
import torch.nn as nn
import triton
import triton.language as tl

TASK = 43
MASKED = True  # position i sees positions up to i


@triton.jit
def linear(x, w, b, y, M, N, K, GELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """y = x @ w.T + b, followed by the tanh form of GELU if asked for."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        xs = tl.load(x + rows[:, None] * K + inner[None, :],
                     mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        ws = tl.load(w + columns[None, :] * K + inner[:, None],
                     mask=(columns[None, :] < N) & (inner[:, None] < K), other=0.0)
        sums += tl.dot(xs, ws, input_precision="ieee")
    sums += tl.load(b + columns, mask=columns < N, other=0.0).to(tl.float32)[None, :]
    if GELU:
        inside = 0.7978845608028654 * (sums + 0.044715 * sums * sums * sums)
        sums = sums / (1.0 + tl.exp(-2.0 * inside))
    tl.store(y + rows[:, None] * N + columns[None, :], sums.to(y.dtype.element_ty),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def attend(qkv, y, T, C, D, scale, HEADS: tl.constexpr, SOFTMAX: tl.constexpr, CAUSAL: tl.constexpr,
           BT: tl.constexpr, BD: tl.constexpr):
    """One block of queries of one head: its keys pass by, block after block."""
    batch = tl.program_id(1) // HEADS
    head = tl.program_id(1) % HEADS
    base = qkv + batch.to(tl.int64) * T * 3 * C + head * D
    queries = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, BD)
    mine = (queries[:, None] < T) & (d[None, :] < D)
    q = tl.load(base + queries[:, None] * 3 * C + d[None, :], mask=mine, other=0.0)
    top = tl.full((BT,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BT,), dtype=tl.float32)
    sums = tl.zeros((BT, BD), dtype=tl.float32)
    end = T
    if CAUSAL:
        end = tl.minimum(T, (tl.program_id(0) + 1) * BT)
    for start in range(0, end, BT):
        keys = start + tl.arange(0, BT)
        theirs = (keys[:, None] < T) & (d[None, :] < D)
        k = tl.load(base + C + keys[:, None] * 3 * C + d[None, :], mask=theirs, other=0.0)
        v = tl.load(base + 2 * C + keys[:, None] * 3 * C + d[None, :], mask=theirs, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < T
        if CAUSAL:
            seen = seen & (keys[None, :] <= queries[:, None])
        if SOFTMAX:
            scores = tl.where(seen, scores, float("-inf"))
            higher = tl.maximum(top, tl.max(scores, 1))
            weights = tl.exp(scores - higher[:, None])
            shrink = tl.exp(top - higher)
            total = total * shrink + tl.sum(weights, 1)
            sums = sums * shrink[:, None]
            top = higher
        else:
            weights = tl.where(seen, tl.maximum(scores, 0.0), 0.0)
        sums += tl.dot(weights.to(v.dtype), v, input_precision="ieee")
    if SOFTMAX:
        sums = sums / total[:, None]
    out = y + batch.to(tl.int64) * T * C + head * D
    tl.store(out + queries[:, None] * C + d[None, :], sums.to(y.dtype.element_ty), mask=mine)


def linear_of(x, layer, gelu=False):
    M, K, N = x.numel() // x.shape[-1], x.shape[-1], layer.weight.shape[0]
    y = torch.empty((*x.shape[:-1], N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    linear[grid](x, layer.weight, layer.bias, y, M, N, K, GELU=gelu, BM=64, BN=64, BK=32)
    return y


def attention_of(qkv, heads, softmax=True):
    B, T, C = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    D = C // heads
    y = torch.empty((B, T, C), device=qkv.device, dtype=qkv.dtype)
    attend[(triton.cdiv(T, 32), B * heads)](
        qkv, y, T, C, D, D**-0.5, HEADS=heads, SOFTMAX=softmax, CAUSAL=MASKED, BT=32,
        BD=max(16, triton.next_power_of_2(D)),
    )
    return y


@triton.jit
def normalise(x, w, b, y, C, eps, BC: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BC)
    inside = c < C
    v = tl.load(x + row * C + c, mask=inside, other=0.0).to(tl.float32)
    off = tl.where(inside, v - tl.sum(v) / C, 0.0)
    v = off / tl.sqrt(tl.sum(off * off) / C + eps)
    v = v * tl.load(w + c, mask=inside, other=0.0) + tl.load(b + c, mask=inside, other=0.0)
    tl.store(y + row * C + c, v.to(y.dtype.element_ty), mask=inside)


@triton.jit
def plus(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


def norm_of(x, layer):
    y = torch.empty_like(x)
    C = x.shape[-1]
    normalise[(x.numel() // C,)](x, layer.weight, layer.bias, y, C, layer.eps, BC=triton.next_power_of_2(C))
    return y


def sum_of(a, b):
    y = torch.empty_like(a)
    plus[(triton.cdiv(a.numel(), 1024),)](a, b, y, a.numel(), BLOCK=1024)
    return y


class Projections(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)


class Attention(nn.Module):
    """43"""

    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.heads = n_head

    def forward(self, x):
        return linear_of(attention_of(linear_of(x, self.c_attn), self.heads), self.c_proj)


class Block(nn.Module):
    """44"""

    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = Projections(n_embd)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(n_embd, 4 * n_embd), "c_proj": nn.Linear(4 * n_embd, n_embd)})
        self.heads = n_head

    def forward(self, x):
        inner = attention_of(linear_of(norm_of(x, self.ln_1), self.attn.c_attn), self.heads)
        x = sum_of(x, linear_of(inner, self.attn.c_proj))
        wide = linear_of(norm_of(x, self.ln_2), self.mlp["c_fc"], gelu=True)
        return sum_of(x, linear_of(wide, self.mlp["c_proj"]))


class ReluAttention(nn.Module):
    """50: the task has a second projection, and does not use it."""

    def __init__(self, n_embd, n_head, max_seqlen):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.heads = n_head

    def forward(self, x):
        return attention_of(linear_of(x, self.c_attn), self.heads, softmax=False)


class ModelNew({43: Attention, 44: Block, 50: ReluAttention}[TASK]):
    pass
