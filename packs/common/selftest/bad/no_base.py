# ModelNew is not a torch.nn.Module.
import torch


class ModelNew:
    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out

    def __call__(self, x):
        return self.forward(x)
