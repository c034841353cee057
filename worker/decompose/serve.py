"""The boxed side of the jobs `decompose` and `validate`: a process that takes a task apart, or runs
one program, the task's or a piece's, on inputs that the judge hands over as bytes. It decides
nothing, and a piece that lies here lies about its own output only."""

import json
import mmap
import os
import socket
from collections import Counter

import torch
from decompose import cut, propose
from decompose.capture import RECURRENT
from shared import inputs
from shared.child import Child, error
from torch.overrides import TorchFunctionMode, resolve_name

NARROW = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64}
TO_NARROW = {"float", "half", "bfloat16"}


class Widened(TorchFunctionMode):
    """Computes in fp64 what the program casts to a narrower type: the algebra, without rounding."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        if getattr(func, "__name__", "") in TO_NARROW and len(args) == 1:
            return args[0].double()
        args = tuple(_wide(a) for a in args)
        return func(*args, **{k: _wide(v) for k, v in (kwargs or {}).items()})


def _wide(value: object) -> object:
    return NARROW.get(value, value) if isinstance(value, torch.dtype) else value


class Counting(TorchFunctionMode):
    """Counts the functions of torch that compute tensors: packing and unpacking is no work. A
    recurrent layer counts once for each of its levels, directions and steps."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        result = func(*args, **(kwargs or {}))
        name = str(resolve_name(func)).removeprefix("torch.").removesuffix(".__get__")
        made = isinstance(result, (torch.Tensor, tuple, list)) and not isinstance(result, torch.Size)
        if made and name.rpartition(".")[2] not in cut.VIEWS:
            self.found[name] += steps(args) if name in RECURRENT.values() else 1
        return result


def steps(args: tuple) -> int:
    """Of torch.gru and the like: input, state, weights, biased, levels, dropout, training, both
    ways, batch first. With packed sequences the lengths are the second argument."""
    if isinstance(args[3], (list, tuple)):
        return 1
    return args[4] * (2 if args[7] else 1) * args[0].shape[1 if args[8] and args[0].dim() == 3 else 0]


class Pieces(Child):
    def __init__(self, sock: socket.socket, folder: str) -> None:
        super().__init__(sock, None, folder, "cpu", "", None)
        self.operations = {
            "ping": self.ping, "propose": self.guarded(self.propose), "load": self.guarded(self.load),
            "state": self.guarded(self.state), "draw": self.guarded(self.draw),
            "call": self.guarded(self.call),
        }  # fmt: skip

    def guarded(self, operation):  # noqa: ANN001, ANN201
        def tried(m: dict, fds: list[int]) -> dict:
            try:
                return operation(m, fds)
            except BaseException as problem:  # noqa: BLE001 - SystemExit too
                return self.error(m["op"], problem)

        return tried

    def error(self, stage: str, problem: BaseException) -> dict:
        try:
            return error(stage, problem, False, "<piece>")
        except BaseException:  # noqa: BLE001 - an exception is the piece's object too
            return {"error": {"stage": stage, "type": "Exception", "text": "cannot be shown"}}

    def propose(self, m: dict, fds: list[int]) -> dict:
        proposal = propose.propose(m["source"], m["problem"], m["level"], m["seed"], m["init_seed"])
        return self.hand_over(json.dumps(proposal).encode(), m, fds)

    # ---- one program ----

    def load(self, m: dict, fds: list[int]) -> dict:
        space: dict = {"__name__": "piece"}
        exec(compile(m["source"], "<piece>", "exec"), space)  # noqa: S102 - what the box is for
        args = inputs.init_args(space, m["init_seed"], "cpu")
        model = inputs.build(space["Model"], args, m["init_seed"], "cpu", torch.float32, False)
        self.space, self.model = space, model
        self.wide: torch.nn.Module | None = None
        state = [[n, list(t.shape), str(t.dtype).removeprefix("torch.")]
                for n, t in self.tensors_of(model).items()]  # fmt: skip
        return {"ok": True, "state": state}

    def tensors_of(self, model: torch.nn.Module) -> dict[str, torch.Tensor]:
        return inputs.parameters(model) | inputs.buffers(model)

    def state(self, m: dict, fds: list[int]) -> dict:
        """Reads parameters and buffers from the file, or writes them to it."""
        held = self.tensors_of(self.model)
        if "names" not in m:
            return self.put(list(held.values()), fds[0], m["bytes"])
        values = self.take(m["tensors"], fds[0], m["bytes"])
        with torch.no_grad():
            for name, value in zip(m["names"], values):
                held[name].copy_(value)
        self.wide = None
        return {"ok": True}

    def draw(self, m: dict, fds: list[int]) -> dict:
        values = inputs.make(self.space, m["seed"], "plain", "cpu", torch.float32)
        places = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor)]
        rest = [[i, v] for i, v in enumerate(values) if i not in places]
        if not all(isinstance(v, (int, float, str, bool, type(None))) for _, v in rest):
            raise TypeError("get_inputs returns something else than tensors and plain values")
        return self.put([values[i] for i in places], fds[0], m["bytes"]) | {"places": places,
                                                                          "rest": rest}  # fmt: skip

    def call(self, m: dict, fds: list[int]) -> dict:
        """One call of forward: on a copy of the model if it is to be `fresh`."""
        values = self.take(m["tensors"], fds[0], m["in_bytes"])
        if m["wide"]:
            values = [v.double() if v.is_floating_point() else v for v in values]
        args: list = [None] * (len(values) + len(m["rest"]))
        for i, v in [*zip(m["places"], values), *m["rest"]]:
            args[i] = v
        model = self.model_for(m)
        counting, ops = Counting(), {}
        torch.set_default_dtype(torch.float64 if m["wide"] else torch.float32)
        inputs.sow(m["seed"], "cpu")
        with torch.no_grad():
            if m["wide"]:
                with Widened():
                    result = model(*args)
            elif m["count"]:
                with counting:
                    result = model(*args)
                ops = dict(counting.found)
            else:
                result = model(*args)
        torch.set_default_dtype(torch.float32)
        if not isinstance(result, torch.Tensor):
            raise TypeError(f"forward returns a {type(result).__name__}, not one tensor")
        return self.put([result], fds[1], m["bytes"]) | {"ops": ops}

    def model_for(self, m: dict) -> torch.nn.Module:
        if m["wide"]:
            if self.wide is None:
                self.wide = inputs.cast_model(inputs.copied(self.model), torch.float64)
            return self.wide
        return inputs.copied(self.model) if m["fresh"] else self.model

    # ---- bytes ----

    def put(self, values: list[torch.Tensor], fd: int, room: int) -> dict:
        specs, at = [], 0
        for t in values:
            t = t.detach()
            flat, strides = flattened(t)
            data = memoryview(flat.view(torch.uint8).numpy()) if flat.numel() else memoryview(b"")
            if at + len(data) > room:
                raise MemoryError("the tensors do not fit into the memory that is there for them")
            _write_all(fd, data, at)
            specs.append([list(t.shape), str(t.dtype).removeprefix("torch."), strides, at])
            at += -(-len(data) // 64) * 64
        return {"ok": True, "tensors": specs}

    def take(self, specs: list, fd: int, size: int) -> list[torch.Tensor]:
        if not specs:
            return []
        whole = torch.frombuffer(mmap.mmap(fd, size), dtype=torch.uint8)
        found = []
        for shape, dtype, strides, at in specs:
            kind = getattr(torch, dtype)
            count = torch.Size(shape).numel()
            flat = whole[at : at + count * kind.itemsize].view(kind)
            found.append(torch.empty_strided(shape, strides, dtype=kind).copy_(
                flat.as_strided(shape, strides)))
        return found


def flattened(t: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """Its elements in the order of its memory, with its strides if they leave no holes: layouts
    decide how libraries add up, and so the last bit."""
    order = sorted(range(t.dim()), key=lambda d: (-t.stride(d), d))
    inner = t.permute(order).contiguous()
    strides = [0] * t.dim()
    for place, d in enumerate(order):
        strides[d] = inner.stride(place)
    return inner.reshape(-1), strides


def _write_all(fd: int, data: memoryview, at: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done : done + (1 << 24)], at + done)
