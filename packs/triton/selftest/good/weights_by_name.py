"""A GRU's gates: parameters found by computed names, initialised with helpers and a fixed seed."""
import torch
import torch.nn as nn
import torch.nn.init as init
import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def gru_cell_kernel(x_ptr, h_ptr, wi_ptr, wh_ptr, bi_ptr, bh_ptr, out_ptr, I, H, BI: tl.constexpr, BH: tl.constexpr):
    row = tl.program_id(0)
    unit = tl.program_id(1)
    i = tl.arange(0, BI)
    j = tl.arange(0, BH)
    x = tl.load(x_ptr + row * I + i, mask=i < I, other=0.0)
    h = tl.load(h_ptr + row * H + j, mask=j < H, other=0.0)
    gi = tl.zeros((4,), dtype=tl.float32)
    gh = tl.zeros((4,), dtype=tl.float32)
    for gate in tl.static_range(3):
        wi = tl.load(wi_ptr + (gate * H + unit) * I + i, mask=i < I, other=0.0)
        wh = tl.load(wh_ptr + (gate * H + unit) * H + j, mask=j < H, other=0.0)
        here = tl.arange(0, 4) == gate
        gi += tl.where(here, tl.sum(x * wi, axis=0) + tl.load(bi_ptr + gate * H + unit), 0.0)
        gh += tl.where(here, tl.sum(h * wh, axis=0) + tl.load(bh_ptr + gate * H + unit), 0.0)
    lane = tl.arange(0, 4)
    r = sigmoid(tl.sum(tl.where(lane == 0, gi + gh, 0.0), axis=0))
    z = sigmoid(tl.sum(tl.where(lane == 1, gi + gh, 0.0), axis=0))
    a = tl.sum(tl.where(lane == 2, gi + r * gh, 0.0), axis=0)
    n = 2.0 * sigmoid(2.0 * a) - 1.0
    old = tl.load(h_ptr + row * H + unit)
    tl.store(out_ptr + row * H + unit, (1.0 - z) * n + z * old)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        torch.manual_seed(0)
        self.gru = nn.GRU(input_size, hidden_size, num_layers)
        seen = set()
        for name, weight in self.gru.named_parameters():
            seen.add(name)
            if weight.dim() > 1:
                init.orthogonal_(weight)
            else:
                nn.init.zeros_(weight)
        names = [name for name in seen if name.startswith("weight_ih")]
        names.sort()
        self.layers = len(names)
        self.hidden_size = hidden_size

    def cell(self, x, h, layer):
        wi, wh, bi, bh = (getattr(self.gru, f"{kind}_l{layer}")
                          for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        out = torch.empty_like(h)
        H, I = self.hidden_size, x.shape[1]
        gru_cell_kernel[(x.shape[0], H)](x, h, wi, wh, bi, bh, out, I, H,
                                         BI=triton.next_power_of_2(I), BH=triton.next_power_of_2(H))
        return out

    def forward(self, x):
        state = [torch.zeros(x.shape[1], self.hidden_size, device=x.device, dtype=x.dtype)
                 for _ in range(self.layers)]
        outputs = []
        for step in x.contiguous().unbind(0):
            for layer in range(self.layers):
                step = state[layer] = self.cell(step, state[layer], layer)
            outputs.append(step)
        return torch.stack(outputs)
