"""Traces as a hostile recorder would write them: pieces of docs/TRACE.md, small tasks to forge
for, and candidates whose recorder answers with them (tests/fixtures/packs/forger)."""

from __future__ import annotations

import base64
import json
import textwrap
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from worker_run import Job

GOOD_EVERY = 25  # forgeries between two honest traces

_TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
{body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def task(body: str, inputs: str = "torch.randn(8, 32)") -> str:
    return _TASK.format(body=textwrap.indent(textwrap.dedent(body).strip(), "    "), inputs=inputs)


RELU = task("def forward(self, x):\n    return torch.relu(x)")
COPY = task("def forward(self, x):\n    return x.clone()")
TRANSPOSE = task("def forward(self, x):\n    return x.t().contiguous()")
TRUNCATE = task("def forward(self, x):\n    return (3 * x).to(torch.int32)")
ADD = task("def forward(self, a, b):\n    return a + b", "torch.randn(8, 32), torch.randn(8, 32)")
PAIR = task("def forward(self, x):\n    return {'twice': x * 2, 'more': (x + 1, 3)}")
SCALE = task("""
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(32))
        self.shift = nn.Parameter(torch.zeros(32))

    def forward(self, x):
        return x * self.scale + self.shift
""")
COUNTED = task("""
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        return torch.relu(x)
""")


# ---- pieces of a trace -----------------------------------------------------------------

X = {"kind": "input", "index": 0}
SIZE = 8 * 32


def new(count: int = SIZE, dtype: str = "float32", **more: object) -> dict:
    width = {"float32": 4, "int32": 4, "int64": 8, "float16": 2, "bool": 1}[dtype]
    return {"kind": "new", "bytes": count * width, "dtype": dtype, **more}


def kept(key: int, count: int = SIZE, dtype: str = "float32") -> dict:
    return new(count, dtype) | {"kind": "kept", "id": key}


def const(at: int = 0, count: int = SIZE) -> dict:
    return new(count) | {"kind": "const", "at": at}


def state(name: str) -> dict:
    return {"kind": "state", "name": name}


def view(buffer: int, shape: tuple = (8, 32), strides: tuple | None = None,
         dtype: str = "float32", offset: int = 0) -> list:  # fmt: skip
    if strides is None:
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    return [buffer, dtype, offset, list(shape), list(strides)]


def tensor(buffer: int, *args: object, **more: object) -> dict:
    return {"t": view(buffer, *args, **more)}


def copy(to: list, source: list) -> dict:
    return {"op": "copy", "to": to, "from": source}


def fill(to: list, value: object) -> dict:
    return {"op": "fill", "to": to, "value": value}


def launch(kernel: int = 0, grid: object = (1,), options: object = None, tuned: object = None,
           **args: object) -> dict:  # fmt: skip
    node = {"op": "launch", "kernel": kernel, "grid": list(grid), "args": args,
            "options": options if options is not None else {}}  # fmt: skip
    return node | ({"tuned": tuned} if tuned is not None else {})


def call(buffers: list, nodes: list, output: object) -> dict:
    result = {"tensor": output} if isinstance(output, list) else output
    return {"buffers": buffers, "nodes": nodes, "output": result}


def trace(*calls: dict, kernels: object = (), setup: dict | None = None, blob: bytes = b"",
          **more: object) -> bytes:  # fmt: skip
    header = {"trace": 1, "state": [], "setup": setup or {"buffers": [], "nodes": []},
            "calls": list(calls), "kernels": list(kernels), "texts": [], **more}  # fmt: skip
    return json.dumps(header).encode() + b"\n" + blob


# ---- candidates ------------------------------------------------------------------------


@dataclass
class Forgery:
    name: str
    task: str
    source: str  # the file without its last line
    data: bytes | str  # a trace, or Python that forges one
    call_ms: int = 20000

    def text(self) -> str:
        kind = "trace" if isinstance(self.data, bytes) else "forge"
        raw = self.data if isinstance(self.data, bytes) else self.data.encode()
        return f"{self.source}\n# {kind}: {base64.b64encode(zlib.compress(raw)).decode()}\n"

    def job(self, folder: Path, pack: str, family: str) -> Job:
        (folder / f"{self.name}.task.py").write_text(self.task)
        (folder / f"{self.name}.py").write_text(self.text())
        return Job(self.name, pack, folder / f"{self.name}.task.py", folder / f"{self.name}.py",
                   call_ms=self.call_ms, family=family)  # fmt: skip


class Table:
    """What is forged, each by its name, which says what it tries: bytes, or functions that make
    them."""

    def __init__(self, name: str, source: str, good: Forgery, pack: str, family: str) -> None:
        self.name, self.source, self.good = name, source, good
        self.pack, self.family = pack, family
        self.forgeries: dict[str, Forgery] = {}

    def add(self, given: str, source: str | None = None, call_ms: int = 20000, **forged: bytes | str) -> None:
        for name, data in forged.items():
            name = f"{self.name}.{name}"
            text = self.source if source is None else source
            self.forgeries[name] = Forgery(name, given, text, data, call_ms)

    def __call__(self, given: str, **more: object) -> Callable:
        return lambda make: self.add(given, **more, **{make.__name__: make()})

    def jobs(self, folder: Path) -> list[Job]:
        """All of them, the honest trace between them."""
        jobs = []
        for index, forgery in enumerate(self.forgeries.values()):
            if index % GOOD_EVERY == 0:
                name = f"good-{index}.{self.name}"
                honest = Forgery(name, self.good.task, self.good.source, self.good.data)
                jobs.append(honest.job(folder, self.pack, self.family))
            jobs.append(forgery.job(folder, self.pack, self.family))
        return jobs
