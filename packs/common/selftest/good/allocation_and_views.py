# Allocation, fills, views, copies, casts, cat, stack and pad are what torch is for.
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x, y):
        a = torch.zeros(x.size(0), 4, device=x.device)
        b = x.new_empty(x.shape).fill_(0).zero_()
        c = x.view(-1).unsqueeze(0).expand(2, -1).contiguous()
        d = x.permute(1, 0).transpose(0, 1).reshape(x.shape).squeeze().flatten()
        e = F.pad(x, (1, 1))
        f = torch.cat([x, y], dim=0)
        g = torch.stack([x, y])
        h, _ = x.float().to(torch.float32).chunk(2, dim=-1)
        i = x.detach().clone().copy_(y).narrow(0, 0, 1)
        j = torch.full_like(x, -torch.inf)
        k = y.item() if y.numel() == 1 else 0.0
        out = torch.empty_like(x)
        launch_kernel(a, b, c, d, e, f, g, h, i, j, k, out, x.T, x.split(1)[0])
        return out
