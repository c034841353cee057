# An autograd.Function whose forward launches the kernel.
import torch
import torch.nn as nn


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        out = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype)
        launch_kernel(a, b, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        da = torch.empty_like(a)
        launch_kernel(grad, b.t(), da)
        return da, None


class ModelNew(nn.Module):
    def forward(self, a, b):
        return Product.apply(a, b)
