"""Recordings of small candidates, and an executor that runs their traces on real tensors.

The candidates' language is `launch(name, grid, **arguments)`; its kernels are the functions
of KERNELS. Each recording has a process of its own, forked from this one, as it has in use.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from recorder import recorder  # noqa: E402

torch.set_num_threads(1)  # before any work: forked children would hang

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from lang import launch
"""
FILL = 0xFF  # what fresh memory holds: NaN


KERNELS: dict[str, Callable] = {
    "relu": lambda x, y: y.copy_(x.relu()),
    "twice": lambda x, y, **_: y.copy_(x * 2),
    "add": lambda x, y, z: z.copy_(x + y),
    "scale": lambda x, y, by: y.copy_(x * by),
    "matmul": lambda x, w, y: y.copy_(x.float() @ w.float()),
    "linear": lambda x, w, b, y: y.copy_(x.float() @ w.float().t() + b.float()),
    "add_to": lambda x, y: y.add_(x),
    "sum": lambda x, y: y.copy_(x.sum()),
    "step": lambda x: x.add_(1),
}


@dataclass
class Refusal(Exception):
    rule: str
    text: str


@dataclass
class Failure(Exception):
    """The candidate's own exception."""

    stage: str
    type: str
    text: str


class Language:
    """The adapter."""

    def install(self, current: Callable) -> None:
        def launch(name: str, grid: tuple, **arguments: Any) -> None:
            rec = current()
            if rec is None:
                raise RuntimeError("a kernel is launched outside of forward")
            args_spec = {
                k: {"t": rec.view(v)} if isinstance(v, torch.Tensor) else v
                for k, v in arguments.items()
            }
            kernel = rec.kernel(name, lambda: {"name": name})
            node = {"op": "launch", "kernel": kernel, "grid": list(grid), "args": args_spec}
            rec.launch({**node, "options": {}})

        sys.modules["lang"] = types.SimpleNamespace(launch=launch)


@dataclass
class Recording:
    raw: dict
    blob: bytes
    size: int

    @property
    def calls(self) -> list[dict]:
        return self.raw["calls"]

    def nodes(self, call: int = -1) -> list[dict]:
        return self.calls[call]["nodes"]

    def ops(self, call: int = -1) -> list[str]:
        return [n["op"] for n in self.nodes(call)]

    def kinds(self, call: int = -1) -> list[str]:
        return [b["kind"] for b in self.calls[call]["buffers"]]


def spec(value: Any) -> dict:
    """How the judge describes an argument of forward."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return {"tensor": [list(value.shape), dtype, list(value.stride())]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [spec(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[k, spec(v)] for k, v in value.items()]}
    return {"value": value}


def record(body: str, *args: Any, init: str = "[]", claims: str = "cuda:0",
           state: list | None = None, precision: str = "fp32", gpu: dict | None = None,
           unsettled: bool = False, seed: int = 1) -> Recording:  # fmt: skip
    """The trace of a candidate. `state`: the reference's; by default there is none."""
    message = {
        "source": HEAD + textwrap.dedent(body), "init_seed": seed, "unsettled": unsettled,
        "init_source": f"import torch\ndef get_init_inputs():\n    return {init}\n",
        "precision": precision, "claims": claims, "gpu": gpu,
        "inputs": [spec(a) for a in args], "state": state or [],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        status, data = _forked(message, folder)
    if status == "ok":
        line, _, blob = data.partition(b"\n")
        return Recording(json.loads(line), blob, len(data))
    raw = json.loads(data)
    raise Refusal(**raw) if status == "refused" else Failure(**raw)


def _forked(message: dict, folder: str) -> tuple[str, bytes]:
    answer = os.path.join(folder, "answer")
    pid = os.fork()
    if pid == 0:
        try:
            Language().install(recorder.current)
            Path(answer).write_bytes(b"ok\n" + recorder.record(message, folder))
        except recorder.Refused as refusal:
            reason = {"rule": refusal.rule, "text": refusal.text}
            Path(answer).write_bytes(b"refused\n" + json.dumps(reason).encode())
        except BaseException as problem:  # noqa: BLE001
            text = "".join(traceback.format_exception(problem))
            reason = {"stage": recorder.stage(), "type": type(problem).__name__, "text": text}
            Path(answer).write_bytes(b"error\n" + json.dumps(reason).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    status, _, data = Path(answer).read_bytes().partition(b"\n")
    return status.decode(), data


RELU = """
        y = torch.empty_like(x)
        launch("relu", (4,), x=x, y=y)
        return y
"""


def forward(lines: str, init: str = "", top: str = "", last: str = RELU) -> str:
    """A candidate of some lines of forward, of __init__ and of the module."""
    put = lambda text: "\n".join("        " + line for line in text.splitlines())  # noqa: E731
    return (
        f"{top}\nclass ModelNew(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n{put(init)}\n\n"
        f"    def forward(self, x):\n{put(lines)}{last}"
    )


# ---- for comparison: the candidate itself, on real tensors ----------------------------


def model(body: str, *init: Any, seed: int = 2) -> torch.nn.Module:
    """The candidate's model in this process; its kernels run as they are."""
    direct = lambda name, grid, **arguments: KERNELS[name](**arguments)  # noqa: E731
    sys.modules["lang"] = types.SimpleNamespace(launch=direct)
    space: dict = {"__name__": __name__}  # a module that is there: dataclasses look for it
    exec(HEAD + textwrap.dedent(body), space)  # noqa: S102
    torch.manual_seed(seed)
    return space["ModelNew"](*init)


def state_of(module: torch.nn.Module) -> list:
    return [[n, list(t.shape), str(t.dtype)] for n, t in module.state_dict().items()]


# ---- an executor ----------------------------------------------------------------------


class Execution:
    """A trace on the CPU: one memory for each buffer, which fresh is full of NaN."""

    def __init__(self, recording: Recording, state: dict[str, torch.Tensor] | None = None) -> None:
        self.recording = recording
        self.state = {n: t.detach().clone().contiguous() for n, t in (state or {}).items()}
        self.kept: dict[int, torch.Tensor] = {}
        self._run(recording.raw["setup"], [])

    def call(self, *args: Any, which: int = -1) -> Any:
        """The outputs of one call."""
        call = self.recording.calls[which]
        inputs = list(_tensors(args))
        return self._output(self._run(call, inputs), call["output"])

    def calls(self, *args: Any) -> list[Any]:
        """The outputs of the first call and, where it differs, of the steady one twice."""
        if len(self.recording.calls) == 1:
            return [self.call(*args), self.call(*args)]
        return [self.call(*args, which=0), self.call(*args), self.call(*args)]

    def _run(self, part: dict, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        memory = [self._memory(b, inputs) for b in part["buffers"]]
        for node in part["nodes"]:
            getattr(self, "_" + node["op"])(node, memory)
        return memory

    def _memory(self, raw: dict, inputs: list[torch.Tensor]) -> torch.Tensor:
        kind = raw["kind"]
        if kind == "input":
            return _bytes_of(inputs[raw["index"]])
        if kind == "state":
            return _bytes_of(self.state[raw["name"]])
        if kind == "kept":
            return self.kept[raw["id"]]
        if kind == "const":
            data = self.recording.blob[raw["at"] : raw["at"] + raw["bytes"]]
            return torch.frombuffer(bytearray(data), dtype=torch.uint8)
        made = torch.full((raw["bytes"],), FILL, dtype=torch.uint8)
        if "id" in raw:
            self.kept[raw["id"]] = made
        return made

    def _view(self, raw: list, memory: list[torch.Tensor]) -> torch.Tensor:
        buffer, dtype, offset, shape, strides = raw
        flat = memory[buffer].view(getattr(torch, dtype))
        turned = [i for i, s in enumerate(strides) if s < 0]
        for i in turned:  # torch has no negative strides
            offset += (shape[i] - 1) * strides[i]
        found = flat.as_strided(shape, [abs(s) for s in strides], offset)
        return found.flip(turned) if turned else found

    def _copy(self, node: dict, memory: list[torch.Tensor]) -> None:
        self._view(node["to"], memory).copy_(self._view(node["from"], memory))

    def _fill(self, node: dict, memory: list[torch.Tensor]) -> None:
        value = node["value"]
        value = float(value["float"]) if isinstance(value, dict) else value
        self._view(node["to"], memory).fill_(value)

    def _add(self, node: dict, memory: list[torch.Tensor]) -> None:
        self._view(node["to"], memory).add_(node["value"])

    def _launch(self, node: dict, memory: list[torch.Tensor]) -> None:
        arguments = {
            k: self._view(v["t"], memory) if isinstance(v, dict) and "t" in v else v
            for k, v in node["args"].items()
        }
        KERNELS[self.recording.raw["kernels"][node["kernel"]]["name"]](**arguments)

    def _output(self, memory: list[torch.Tensor], raw: dict) -> Any:
        ((kind, value),) = raw.items()
        if kind == "tensor":
            return self._view(value, memory).clone()
        if kind == "dict":
            return {k: self._output(memory, v) for k, v in value}
        if kind in ("list", "tuple"):
            parts = [self._output(memory, v) for v in value]
            return tuple(parts) if kind == "tuple" else parts
        return value


def _bytes_of(t: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage())


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _copied(value: Any) -> Any:
    """The memory may be written again by the next call."""
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return value.clone() if isinstance(value, torch.Tensor) else value


def same(got: Any, expected: Any) -> None:
    """Structure and values; both are exact here."""
    if isinstance(expected, torch.Tensor):
        assert got.shape == expected.shape and got.dtype == expected.dtype
        assert torch.equal(got.float(), expected.float()), f"{got} is not {expected}"
        return
    assert type(got) is type(expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        got, expected = list(got.values()), list(expected.values())
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            same(a, b)
    else:
        assert got == expected


def repeats(body: str, *args: Any, init: str = "[]", claims: str = "cpu",
            **options: Any) -> Recording:  # fmt: skip
    """Records a candidate and requires of the trace what the candidate itself does, with
    other parameters than those it was recorded with."""
    mine = model(body, *eval(init))  # noqa: S307
    before = {n: t.clone() for n, t in mine.state_dict().items()}
    options.setdefault("state", state_of(mine))
    found = record(body, *args, init=init, claims=claims, **options)
    execution = Execution(found, before)
    with torch.no_grad():
        expected = [_copied(mine(*args)) for _ in range(len(found.calls) + 1)]
    for got, wanted in zip(execution.calls(*args), expected):
        same(got, wanted)
    for name, *_ in found.raw["state"]:
        same(execution.state[name], mine.state_dict()[name].contiguous())
    return found


recorder.warm()
