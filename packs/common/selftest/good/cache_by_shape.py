# A cache of kernels and scratch memory keyed by shape, dtype and device.
import functools

import torch
import torch.nn as nn

_KERNELS = {}


@functools.lru_cache(maxsize=None)
def block_size(n: int) -> int:
    return 1 << (n - 1).bit_length()


class ModelNew(nn.Module):
    def forward(self, x):
        key = (x.shape, x.dtype, x.device)
        if key not in _KERNELS:
            _KERNELS[key] = build_kernel(block_size(x.shape[-1]), x.dtype)
        out = torch.empty_like(x)
        _KERNELS[key](x, out)
        return out
