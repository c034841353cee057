# Settings in a dataclass and an enum.
from __future__ import annotations

import enum
from dataclasses import dataclass, field

import torch
import torch.nn as nn


class Order(enum.Enum):
    ROW = 0
    COLUMN = 1


@dataclass(frozen=True)
class Config:
    block: int = 128
    warps: int = 4
    order: Order = Order.ROW
    extra: dict = field(default_factory=dict)


class ModelNew(nn.Module):
    def __init__(self, config: Config = Config()):
        super().__init__()
        self.config = config

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out, self.config.block, type(x).__name__, evaluate=False)
        return out
