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
    told = {"trace": 1, "state": [], "setup": {"buffers": [], "nodes": []}, "calls": [call],
            "kernels": kernels, "texts": []}  # fmt: skip
    return json.dumps(told).encode() + b"\n"


def vector(buffer: int, count: int, offset: int = 0, dtype: str = "float32") -> dict:
    return {"t": [buffer, dtype, offset, [count], [1]]}


def source(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")
