import torch
import torch.nn as nn
from quill import build

PROGRAM = r"""
scroll matmul(well left: f32[rows, deep], well right: f32[deep, cols],
              basin out: f32[rows, cols], count rows, count cols, count deep)
    letters i = 32, j = 32, k = 64
    roam row below rows by 32
        roam col below cols by 32
            vessel sum[i, j] = 0
            roam at below deep by 64
                pour left[row + i, at + k] -> lt
                pour right[at + k, col + j] -> rt
                sum <~ sum + weave[k](lt, rt)
            end
            pour sum -> out[row + i, col + j]
        end
    end
end
"""

lib = build(PROGRAM)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        A, B = A.contiguous(), B.contiguous()
        out = torch.empty(A.shape[0], B.shape[1], dtype=A.dtype, device=A.device)
        lib.matmul(A, B, out, A.shape[0], B.shape[1], A.shape[1])
        return out
