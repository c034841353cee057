# One name with more meanings than are followed: what it calls cannot be told.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, way):
        if way == 0:
            make = torch.empty
        elif way == 1:
            make = torch.zeros
        elif way == 2:
            make = torch.ones
        elif way == 3:
            make = torch.full
        elif way == 4:
            make = torch.cat
        elif way == 5:
            make = torch.stack
        elif way == 6:
            make = torch.empty_like
        elif way == 7:
            make = torch.zeros_like
        elif way == 8:
            make = torch.ones_like
        elif way == 9:
            make = torch.full_like
        elif way == 10:
            make = torch.arange
        elif way == 11:
            make = torch.tensor
        elif way == 12:
            make = torch.as_tensor
        elif way == 13:
            make = torch.reshape
        elif way == 14:
            make = torch.permute
        elif way == 15:
            make = torch.flatten
        elif way == 16:
            make = torch.unbind
        elif way == 17:
            make = torch.split
        elif way == 18:
            make = torch.chunk
        elif way == 19:
            make = torch.narrow
        out = make(x)
        launch_kernel(x, out)
        return out
