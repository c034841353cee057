import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(planes, channels, size, dtype, block=1024, threads=128):
    @T.prim_func
    def scale_shift_gelu(
        X: T.Tensor((planes, size), dtype),
        Scale: T.Tensor((channels,), dtype),
        Shift: T.Tensor((channels,), dtype),
        Y: T.Tensor((planes, size), dtype),
    ):
        with T.Kernel(T.ceildiv(size, block), planes, threads=threads) as (bx, plane):
            x = T.alloc_fragment((block,), dtype)
            scale = T.cast(Scale[plane % channels], "float32")
            shift = T.cast(Shift[plane % channels], "float32")
            T.copy(X[plane, bx * block], x)
            for i in T.Parallel(block):
                v = T.cast(x[i], "float32") * scale + shift
                x[i] = T.cast(0.5 * v * (1.0 + T.erf(v * 0.7071067811865476)), dtype)
            T.copy(x, Y[plane, bx * block])

    return scale_shift_gelu


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(channels, 1, 1) + 0.5)
        self.shift = nn.Parameter(torch.randn(channels, 1, 1))
        self.kernels = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        N, C, H, W = x.shape
        key = (N * C, C, H * W, str(x.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[3])
        y = self.kernels[key](
            x.contiguous().view(N * C, H * W), self.scale.view(C), self.shift.view(C)
        )
        return y.view(N, C, H, W)
