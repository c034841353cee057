"""Launches of the Triton family as a recorder would tell them: by hand, or recorded over
real tensors of the CPU by a recorder that writes down launches alone."""

from __future__ import annotations

import json
import textwrap
from typing import Any

TL = {"module": "triton.language"}
GLUON = {"module": "triton.experimental.gluon.language"}


def kernel(source: str, name: str = "k", gluon: bool = False, **bind: dict) -> dict:
    """A KERNEL of the trace: the function of that name in `source`."""
    lines = source.splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.strip().startswith(f"def {name}("))
    bound = {"tl": TL, **({"gl": GLUON} if gluon else {}), **bind}
    return {"name": name, "line": line, "bind": bound, "language": "gluon" if gluon else "triton"}


def launch(args: dict, grid: list[int] | None = None, tuned: list[dict] | None = None, number: int = 0,
           **options: Any) -> dict:  # fmt: skip
    node = {"op": "launch", "kernel": number, "grid": grid or [1], "args": args, "options": options}
    if tuned:
        node["tuned"] = tuned
    return node


def trace(kernels: list[dict], nodes: list[dict], *sizes: int) -> bytes:
    """A trace of one call on new float32 buffers of these sizes in bytes."""
    buffers = [{"kind": "new", "bytes": size, "dtype": "float32"} for size in sizes]
    call = {"buffers": buffers, "nodes": nodes, "output": {"value": None}}
    header = {"trace": 1, "state": [], "setup": {"buffers": [], "nodes": []}, "calls": [call],
            "kernels": kernels, "texts": []}  # fmt: skip
    return json.dumps(header).encode() + b"\n"


def vector(buffer: int, count: int, offset: int = 0, dtype: str = "float32") -> dict:
    return {"t": [buffer, dtype, offset, [count], [1]]}


class Refused(Exception):
    pass


class Launches:
    """A recorder of launches alone. Tensors are real, each storage is a buffer."""

    def __init__(self) -> None:
        self.kernels: list[dict] = []
        self.nodes: list[dict] = []
        self.keys: dict[Any, int] = {}
        self.stores: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}

    def view(self, t: Any) -> list:
        store = t.untyped_storage()
        number = self.numbers.setdefault(store.data_ptr(), len(self.numbers))
        self.stores[number] = store
        return [number, str(t.dtype)[6:], t.storage_offset(), list(t.shape), list(t.stride())]

    def kernel(self, key: Any, spec: Any) -> int:
        if key not in self.keys:
            self.kernels.append(spec())
            self.keys[key] = len(self.kernels) - 1
        return self.keys[key]

    def launch(self, node: dict) -> None:
        self.nodes.append(node)

    def refuse(self, rule: str, text: str) -> None:
        raise Refused(f"{rule}: {text}")

    def trace(self) -> bytes:
        return trace(self.kernels, self.nodes, *(s.nbytes() for s in self.stores.values()))


def source(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")
