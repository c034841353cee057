# A grid as a lambda, on the stream of the caller.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = out.numel()
        grid = lambda meta: ((n + meta["BLOCK"] - 1) // meta["BLOCK"],)
        stream = torch.cuda.current_stream().cuda_stream
        launch_kernel[grid](x, out, n, BLOCK=1024, stream=stream)
        return out
