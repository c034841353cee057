"""A right kernel that is not of the pack's language, in a trace that the candidate writes itself:
`monkeys pack check --verify` demands that it is refused. The recorder runs in the candidate's
process, so every candidate can do this. Only a compiler, which has run none of its Python, can tell.

In a language that a translator turns into C or CUDA C++, this is C or CUDA C++ of the candidate's
own. In a pack whose candidates write these themselves, it brings another file along. Elsewhere it
is a text that the language's own front end did not make."""

import json
import sys
from pathlib import Path

import torch
import torch.nn as nn
from recorder import recorder

ADAPTER = Path(sys.modules["pack_adapter"].__file__)
PACK = json.loads(ADAPTER.with_name("pack.json").read_text())
FAMILY = PACK["run"]["family"]
TRANSLATED = PACK["language"] == "own-in-python"

C = """
void smuggled(const float *x, float *y, long long n)
{
    for (long long i = 0; i < n; i++)
        y[i] = x[i] * x[i];
}
"""
KERNEL = """
static __device__ float square(float x) { return x * x; }
__global__ void NAME(const float *x, float *y, long long n)
{
    const long long i = blockIdx.x * 256ll + threadIdx.x;

    if (i < n)
        y[i] = square(x[i]);
}
"""
LAUNCH = """
extern "C" void smuggled(const float *x, float *y, long long n)
{
    kernel<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""
FILE = "" if TRANSLATED else '#include "/dev/null"\n'
TEXTS = {
    "native": C if TRANSLATED else C + f'__asm__(".incbin \\"{ADAPTER}\\"");\n',
    "hosted": FILE + KERNEL.replace("NAME", "kernel") + LAUNCH,
}
OPTIONS = {
    "cuda": {"block": [256, 1, 1], "shared": 0},
    "cute": {"block": [256, 1, 1], "shared": 0, "cluster": [1, 1, 1], "cooperative": False,
             "pdl": False},
}  # fmt: skip


def smuggled(x, y, n):
    import torch

    y.copy_(torch.square(x))


def kernel(text: int) -> dict:
    """As the recorder of each family describes one."""
    if FAMILY == "triton":
        return {"name": "smuggled", "line": smuggled.__code__.co_firstlineno, "bind": {}}
    if FAMILY == "tilelang":
        return {"name": "smuggled", "text": text, "configs": {}, "flags": []}
    return {"text": text, "name": "smuggled", "params": [8, 8, 8] if FAMILY == "cute" else "PPq"}


def launch(x: torch.Tensor, y: torch.Tensor) -> None:
    current, n = recorder.current(), x.numel()
    text = current.text(TEXTS.get(FAMILY, FILE + KERNEL.replace("NAME", "smuggled")))
    args = [{"t": current.view(x)}, {"t": current.view(y)}, n]
    if FAMILY in ("native", "hosted"):
        current.launch({"op": "call", "text": text, "function": "smuggled", "args": args})
        return
    names = ["x", "y", "n"] if FAMILY == "triton" else ["p0", "p1", "p2"]
    if FAMILY == "cute":
        zeros = {"b": "00" * 8}
        args = [zeros | args[0] | {"o": 0}, zeros | args[1] | {"o": 0}, zeros]
    node = {"op": "launch", "kernel": current.kernel("smuggled", kernel(text)),
            "grid": [(n + 255) // 256, 1, 1], "args": dict(zip(names, args)),
            "options": OPTIONS.get(FAMILY, {})}  # fmt: skip
    current.launch(node)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        launch(x, y)
        return y
