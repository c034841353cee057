# The modules that every candidate may import.
from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import itertools
import math
import typing
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.nn import init
from torch.nn.parameter import Parameter


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = Parameter(torch.empty(4, 4))
        init.xavier_uniform_(self.w)

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.w, out, math.prod(x.shape))
        return out
