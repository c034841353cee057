"""An MLP that asks its layers what they are, with a branch for meta tensors that is never taken."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, RELU: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    acc += tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :]
    if RELU:
        acc = tl.maximum(acc, 0.0)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def linear(x, layer, relu):
    if x.device.type == "meta":  # asked for shapes only
        y = F.linear(x, layer.weight, layer.bias)
        return torch.relu(y) if relu else y
    M, K = x.shape
    N = layer.out_features
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    linear_kernel[grid](x, layer.weight, layer.bias, y, M, N, K, relu, BM=32, BN=32, BK=32)
    return y


class ModelNew(nn.Module):
    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        layers = []
        for size in layer_sizes:
            layers += [nn.Linear(input_size, size), nn.ReLU()]
            input_size = size
        layers.append(nn.Linear(input_size, output_size))
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"expected a matrix, got {tuple(x.shape)}")
        layers = list(self.network)
        for i, layer in enumerate(layers):
            if isinstance(layer, nn.Linear):
                relu = i + 1 < len(layers) and isinstance(layers[i + 1], nn.ReLU)
                x = linear(x.contiguous(), layer, relu)
        return x
