# Helpers with annotations; types, dtypes and constants of torch as values.
from typing import Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor

NAMES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
EMPTY = torch.Size([])


def strides(t: torch.Tensor) -> Tuple[int, ...]:
    return t.stride()


def run(x: Tensor, bias: Optional[torch.Tensor], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    assert isinstance(x, torch.Tensor) and x.is_contiguous()
    out = torch.empty(x.shape, dtype=dtype, device=torch.device("cuda"), memory_format=torch.contiguous_format)
    launch_kernel(x, bias, out, strides(x), NAMES[x.dtype], torch.finfo(x.dtype).max, x.element_size())
    return out


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return run(x, None)
