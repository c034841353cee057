"""Kernel launches reported by a lane that ran or interpreted the host half of a recorded call
without data. The lane is hostile. Everything is checked here, and accepted launches stay within the
tensors passed to the call."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from judge import cubin, tuning
from judge.traces import BadTrace, Refused, listed, text, three, whole
from shared import plan
from shared.plan import BLOCK, GRID, MAP_BYTES, MAP_ITEM, STRUCT_BYTES, THREADS

PARAMETERS = 256
NODES = 1000  # of a call
_SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,3999}")


@dataclass(frozen=True)
class Node:
    """One launch of a function. `params` are ("p", tensor, bytes), ("n", size, bits),
    ("m", tensor, bytes, dtype, shape, strides, box, swizzle, fill) or ("s", data, patches),
    where each patch is an offset and a "p" or an "m"."""

    function: int
    params: tuple[tuple, ...]
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cooperative: bool = False
    pdl: bool = False


@dataclass(frozen=True)
class Base:
    """Where a tensor starts in the region, and the number of bytes from there to the end of its
    buffer."""

    at: int
    room: int


# ---- what a lane tells ---------------------------------------------------------------


def read_functions(told: object) -> list[plan.Function]:
    return [_read_function(f) for f in listed(told, 1000, "functions")]


def _read_function(told: dict) -> plan.Function:
    if not _SYMBOL.fullmatch(text(told["name"], 4000, "a function's name")):
        raise BadTrace("a function's name")
    return plan.Function(whole(told["module"], 0, 1000, "a module's number"), told["name"])


def read_modules(
    told: list, functions: list, binaries: bytes, headers: bool = False
) -> tuple[plan.Module, ...]:
    found = []
    parts = tuning.pieces(told, binaries, tuning.BUILT_BYTES, "binaries")
    for index, (one, data) in enumerate(parts):
        if one["kind"] == "cubin":
            cubin.check(data, [f.name for f in functions if f.module == index], headers)
        elif one["kind"] != "library" or data[:4] != b"\x7fELF":
            raise BadTrace("an unknown kind of module")
        found.append(plan.Module(one["kind"], data))
    if any(f.module >= len(found) for f in functions):
        raise BadTrace("a function without a module")
    return tuple(found)


def read_node(told: dict, is_tensor: Callable[[int], bool], functions: list) -> Node:
    """`is_tensor` says whether the call has a tensor with that number."""
    function = whole(told["function"], 0, len(functions) - 1, "a function's number")
    listed_params = listed(told["params"], PARAMETERS, "params")
    params = tuple(_read_param(p, is_tensor) for p in listed_params)
    if "grid" not in told:
        return Node(function, params)
    grid = three(told["grid"], GRID, "a grid")
    block = three(told["block"], BLOCK, "a block")
    cluster = three(told["cluster"], (16, 16, 16), "a cluster")
    if math.prod(block) > THREADS or math.prod(cluster) > 16:
        raise Refused("block", f"a block of {math.prod(block)} threads; at most {THREADS} are allowed")
    shared = whole(told["shared"], 0, 256 << 10, "shared memory")
    flags = told["cooperative"], told["pdl"]
    if not all(isinstance(flag, bool) for flag in flags):
        raise BadTrace("a launch flag that is not a boolean")
    return Node(function, params, grid, block, cluster, shared, *flags)


def _read_param(told: list, is_tensor: Callable[[int], bool]) -> tuple:
    kind = listed(told, 9, "a parameter")[0]
    if kind == "s":
        return _read_struct(*told[1:], is_tensor)
    if kind == "n":
        _, size, bits = told
        size = whole(size, 1, 8, "a number's size")
        return "n", size, whole(bits, 0, (1 << 8 * size) - 1, "a number's bits")
    if kind not in ("p", "m"):
        raise BadTrace("a parameter of another kind")
    index = whole(told[1], 0, 1 << 20, "a tensor's number")
    if not is_tensor(index):
        raise BadTrace("an address in no tensor")
    offset = whole(told[2], 0, 1 << 42, "an offset")
    if kind == "p":
        return "p", index, offset
    return ("m", index, offset, *_read_map(*told[3:]))


def _read_struct(told: str, patches: list, is_tensor: Callable[[int], bool]) -> tuple:
    """Bytes, and the addresses and tensor maps in them, in order."""
    data = bytes.fromhex(text(told, 2 * STRUCT_BYTES, "a parameter's bytes"))
    if not data:
        raise BadTrace("a parameter without bytes")
    found, end = [], 0
    for offset, patch in listed(patches, STRUCT_BYTES // 8, "addresses in a parameter"):
        read = _read_param(patch, is_tensor)
        size, step = (MAP_BYTES, 64) if read[0] == "m" else (8, 8)
        whole(offset, end, len(data) - size, "a place in a parameter")
        if read[0] not in ("p", "m") or offset % step:
            raise BadTrace("a place in a parameter")
        found.append((offset, read))
        end = offset + size
    return "s", data, tuple(found)


def _read_map(dtype: int, shape: list, strides: list, box: list, swizzle: int, fill: int) -> tuple:
    rank = len(listed(shape, 5, "a tensor map"))
    if not 0 < rank == len(box) == len(strides) + 1:
        raise BadTrace("a tensor map's dimensions")
    return (
        whole(dtype, 0, len(MAP_ITEM) - 1, "a tensor map's type"),
        tuple(whole(n, 1, (1 << 32) - 1, "a tensor map's size") for n in shape),
        tuple(whole(n, 0, (1 << 40) - 1, "a tensor map's stride") for n in strides),
        tuple(whole(n, 1, 256, "a tensor map's box") for n in listed(box, 5, "a box")),
        whole(swizzle, 0, 3, "a swizzle"),
        whole(fill, 0, 1, "a fill"),
    )


# ---- what is executed ----------------------------------------------------------------


def bind(node: Node, base: Callable[[int], Base]) -> plan.Launch:
    """Places the launch in the region. `base` says where a tensor is."""
    return plan.Launch(node.function, node.grid, node.block, node.shared,
                       bound(node.params, base), node.cluster, node.cooperative, node.pdl)  # fmt: skip


def bound(params: tuple[tuple, ...], base: Callable[[int], Base]) -> tuple[plan.Param, ...]:
    return tuple(_bound(told, base) for told in params)


def _bound(told: tuple, base: Callable[[int], Base]) -> plan.Param:
    if told[0] == "n":
        return plan.Number(told[1], told[2])
    if told[0] == "s":
        return plan.Struct(told[1], tuple((at, _bound(patch, base)) for at, patch in told[2]))
    kind, index, offset, *rest = told
    start = base(index)
    if reach(told) > start.room:
        raise BadTrace("an address or a tensor map outside its tensor")
    if kind == "p":
        return plan.Pointer(start.at + offset)
    return plan.TensorMap(start.at + offset, *rest)


def reach(told: tuple) -> int:
    """How many bytes of its tensor an address or tensor map needs."""
    kind, _, offset, *rest = told
    if kind == "p":
        return offset
    dtype, shape, strides, *_ = rest
    steps = (MAP_ITEM[dtype], *strides)
    return offset + sum((n - 1) * step for n, step in zip(shape, steps)) + MAP_ITEM[dtype]
