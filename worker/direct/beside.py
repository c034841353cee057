"""The candidate's side of direct.py: ModelNew is built and called beside the data, in a box.
It answers for nothing."""

import mmap
import os

import torch
from shared import inputs, structure
from shared.loading import load_module


class Beside:
    def __init__(self, device: str, path: str) -> None:
        self.device, self.path = device, path
        self.bytes: torch.Tensor | None = None
        self.stage = "load"

    def load(self, m: dict) -> dict:
        self.dtype = inputs.DTYPES[m["precision"]]
        module = load_module(m["source"], self.path)
        space = inputs.namespace(m["init_source"], "task")
        args = inputs.init_args(space, m["init_seed"], self.device)
        self.stage = "init"
        self.model = inputs.build(
            module.ModelNew, args, m["init_seed"], self.device, self.dtype, False
        )
        self.spec = m["inputs"]
        held = inputs.named_state(self.model)
        wanted = {name: (list(shape), dtype) for name, shape, dtype in m["state"]}
        same = [n for n, t in held.items()
                if wanted.get(n) == (list(t.shape), str(t.dtype).removeprefix("torch."))]  # fmt: skip
        return {"ok": True, "names": [[n, n] for n in same]}

    def map(self, m: dict, fds: list[int]) -> dict:
        if self.device == "cpu":
            self.bytes = torch.frombuffer(mmap.mmap(fds[0], m["bytes"]), dtype=torch.uint8)
        else:
            from shared.device_memory import imported

            self.bytes = imported(os.dup(fds[0]), m["bytes"])
        return {"ok": True}

    def view(self, at: int, shape: list[int], dtype: torch.dtype, strides: tuple) -> torch.Tensor:
        return self.bytes.view(dtype).as_strided(shape, strides, at // dtype.itemsize)

    def forward(self, m: dict) -> dict:
        places = iter(m["inputs"])

        def made(spec: dict) -> object:
            ((kind, held),) = spec.items()
            if kind == "tensor":
                shape, dtype, strides = held
                return self.view(next(places), shape, getattr(torch, dtype), strides).clone()
            if kind in ("list", "tuple"):
                parts = [made(part) for part in held]
                return parts if kind == "list" else tuple(parts)
            if kind == "dict":
                return {key: made(part) for key, part in held}
            return float(held["float"]) if isinstance(held, dict) else held

        args = [made(spec) for spec in self.spec]
        held = inputs.named_state(self.model)
        with torch.no_grad():
            for name, at in m["state"].items():
                t = held[name]
                contiguous = torch.empty(t.shape, device="meta").stride()
                t.copy_(self.view(at, t.shape, t.dtype, contiguous))
            out = structure.tensors(self.model(*args))
            found = [[list(t.shape), str(t.dtype).removeprefix("torch.")] for t in out]
            if found != m["wanted"]:
                return {"ok": True, "outputs": found}  # there is no place for them
            for at, t in zip(m["outputs"], out):
                flat = t.contiguous().view(-1)
                self.view(at, flat.shape, flat.dtype, (1,)).copy_(flat)
            for i in m["written"]:
                t = structure.tensors(args)[i]
                spec = structure.leaves({"list": self.spec})[i]
                self.view(m["inputs"][i], t.shape, t.dtype, spec[2]).copy_(t)
            for name, at in m["state"].items():
                flat = held[name].contiguous().view(-1)
                self.view(at, flat.shape, flat.dtype, (1,)).copy_(flat)
        if self.device != "cpu":
            torch.cuda.synchronize()
        return {"ok": True, "outputs": found}
