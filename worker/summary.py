"""A trace in figures, for those who look at a kernel: launches and moves of a call, and the
bytes that they must read and write at least.

A launch is given tensors, and nothing says what it does with each. Memory that nobody wrote
before is written by it; everything else is read. A launch that would then write nothing works
in place: what it was given of the call's own memory it reads and writes."""

from plan import ITEM
from traces import Call, Launch, Trace, View


def size(v: View) -> int:
    """Bytes of a view; elements that an expanded dimension repeats count once."""
    count = 1
    for n, stride in zip(v.shape, v.strides):
        count *= n if stride or n == 0 else 1
    return count * ITEM[v.dtype]


def of(trace: Trace, family) -> dict:
    """Of the steady call, and of the first where that one differs."""
    told = call(trace, trace.steady, family)
    if len(trace.calls) > 1:
        told["first"] = call(trace, trace.calls[0], family)
    return told


def call(trace: Trace, part: Call, family) -> dict:
    kernels: dict[tuple, dict] = {}
    written = {i for i, b in enumerate(part.buffers) if b.kind != "new"}
    total = {"launches": 0, "moves": 0, "bytes_read": 0, "bytes_written": 0}
    for node in part.nodes:
        if isinstance(node, Launch):
            read, wrote = traffic(node, part, family, written)
            grid = tuple(node.told.get("grid", ()))
            row = kernels.setdefault((family.name(trace, node), grid), {
                "name": family.name(trace, node), "grid": list(grid), "launches": 0,
                "bytes_read": 0, "bytes_written": 0,
            })  # fmt: skip
            for told in (row, total):
                told["launches"] += 1
                told["bytes_read"] += read
                told["bytes_written"] += wrote
        else:
            total["moves"] += 1
            total["bytes_read"] += size(node.source) if node.source else 0
            total["bytes_written"] += size(node.to)
            written.add(node.to.buffer)
    return total | {"kernels": list(kernels.values())}


def traffic(node: Launch, part: Call, family, written: set[int]) -> tuple[int, int]:
    views = family.views(node, part)
    fresh = [v for v in views if v.buffer not in written]
    read = [v for v in views if v.buffer in written]
    own = [v for v in read if part.buffers[v.buffer].kind not in ("input", "const")]
    wrote = fresh or [v for v in own if part.buffers[v.buffer].kind != "state"] or own
    written |= {v.buffer for v in views}
    return sum(map(size, read)), sum(map(size, wrote))
