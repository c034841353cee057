import torch
import torch.nn as nn
from quill import build

PROGRAM = r"""
scroll softmax(well xs: f32[rows, cols], basin ys: f32[rows, cols],
               count rows, count cols)
    letters r = 4, c = 1024
    roam row below rows by 4
        pour xs[row + r, c] -> xt dry -inf
        raised := exp(xt - brim[c](xt))
        pour raised / heap[c](raised) -> ys[row + r, c]
    end
end
"""

lib = build(PROGRAM)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.softmax(x, y, x.shape[0], x.shape[1])
        return y
