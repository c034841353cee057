import torch, torch.nn as nn
import torch.nn.functional as F; from torch import relu as r, (
from torch.nn import (Linear, Conv2d as C,)
from . import x
from .. import *
from torch import
import
class Model(nn.Module):
    def __init__(self): super().__init__(); self.a = Linear(1, 2); self.c = C(1)
    def own(self): return F.gelu(r(torch.exp(self.a(1).sum(2))))
    def forward(self, x): return self.own().softmax(-1).t().mm(x)(1)(2) . mean ()
def get_inputs(): return [torch.rand(1)]
if __name__ == "__main__": print(torch.rand(1))
