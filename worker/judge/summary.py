"""Summarises a trace for people: its launches, and the minimum number of bytes that a call reads
and writes, counting each tensor of a launch once. A recorded launch of a function with several
kernels counts as that many.

A trace does not say which of its tensors a kernel writes. Memory that was never written can only be
written, so it counts as written. So does an output, by the last launch that gets it. The rest is
read."""

from collections.abc import Callable

from judge.launches import launch_name, views
from judge.traces import Call, Launch, Move, Trace, View
from shared.program import ITEM


def summarise(trace: Trace, kernels_of: Callable[[Launch], int]) -> dict:
    """`kernels_of` tells how many kernels a recorded launch starts."""
    summary = _summarise_call(trace.steady, trace, kernels_of)
    if len(trace.calls) > 1:
        summary["first"] = _summarise_call(trace.calls[0], trace, kernels_of)
    return summary


def _summarise_call(call: Call, trace: Trace, kernels_of: Callable) -> dict:
    launches = call.launches()
    summary = {"launches": sum(map(kernels_of, launches)), "moves": len(call.nodes) - len(launches)}
    last = {v.buffer: i for i, n in enumerate(launches) for v in views(n, call)}
    results = {v.buffer for v in call.outputs}
    holding: set[int] = set()  # buffers with something in them
    kernels: dict[tuple, dict] = {}
    read = written = at = 0
    for node in call.nodes:
        if isinstance(node, Move):
            read += _view_bytes(node.source) if node.source else 0
            written += _view_bytes(node.to)
            if node.source:
                holding.add(node.to.buffer)
            continue
        one = kernels.setdefault(
            (launch_name(trace, node), tuple(node.spec.get("grid", ()))),
            {"launches": 0, "bytes_read": 0, "bytes_written": 0},
        )
        one["launches"] += kernels_of(node)
        for view in views(node, call):
            empty = call.buffers[view.buffer].kind in ("new", "kept") and view.buffer not in holding
            ends = view.buffer in results and last[view.buffer] == at
            one["bytes_written" if empty or ends else "bytes_read"] += _view_bytes(view)
        holding |= {v.buffer for v in views(node, call)}
        at += 1
    summary["bytes_read"] = read + sum(k["bytes_read"] for k in kernels.values())
    summary["bytes_written"] = written + sum(k["bytes_written"] for k in kernels.values())
    summary["kernels"] = [{"name": n, "grid": list(g), **k} for (n, g), k in kernels.items()]
    return summary


def _view_bytes(view: View) -> int:
    count = ITEM[view.dtype]
    for n, stride in zip(view.shape, view.strides):
        count *= n if stride else min(n, 1)
    return count
