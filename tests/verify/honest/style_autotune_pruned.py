"""Configurations that a function thins out."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


def early(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["B"] <= named_args["n"]] or configs[:1]


@triton.autotune(
    configs=[triton.Config({"B": 2**k}, num_warps=2, num_stages=k % 3 + 1) for k in range(6, 12)],
    key=["n"],
    prune_configs_by={"early_config_prune": early},
    warmup=5,
    rep=10,
)
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
        return y
