# no_grad, the device of the input, and questions to the device.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        with torch.no_grad(), torch.cuda.device(x.device):
            count = torch.cuda.get_device_properties(x.device).multi_processor_count
            out = torch.empty_like(x)
            launch_kernel(x, out, count)
            torch.cuda.synchronize()
        return out
