"""Matrix transpose, thread blocks swizzled for the cache; sizes are checked
with torch.finfo only on the host."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=-1, pass_configs={"tl.disable_warp_specialized": True})
def transpose(M, N, dtype, block=64):
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=256) as (bx, by):
            tile = T.alloc_shared((block, block), dtype)
            T.use_swizzle(panel_size=8)
            T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                if bx * block + i < N and by * block + j < M:
                    B[bx * block + i, by * block + j] = tile[j, i]

    return main


class ModelNew(nn.Module):
    def forward(self, x):
        limit = torch.finfo(x.dtype).max
        assert limit > 0
        kernel = transpose(x.shape[0], x.shape[1], "float16")
        return kernel(x.contiguous())
