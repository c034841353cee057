"""cuda_plan.py: the judge's side of kernels in CUDA C++ that Python launches: what the
trace may say, what is to be built, and what the executor is asked to do. Trace and
answers are hostile."""

import re
import struct
from dataclasses import dataclass
from typing import Any

import native_plan
import plan
from native_plan import check_name, check_texts, real
from trace import BadTrace

MAX_KERNELS = 256
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_SHARED_BYTES = 227 * 1024
SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,3999}")
CODES = frozenset("P?bBhHiIqQfd")  # of a parameter: an address, or as in Python's struct


def check(trace: dict) -> None:
    """Raises BadTrace."""
    check_texts(trace)
    kernels = trace["kernels"]
    if not isinstance(kernels, list) or len(kernels) > MAX_KERNELS:
        raise BadTrace(f"kernels: not a list of at most {MAX_KERNELS}")
    for kernel in kernels:
        _check_kernel(kernel, len(trace["texts"]))
    if len({(kernel["text"], kernel["name"]) for kernel in kernels}) < len(kernels):
        raise BadTrace("kernels: two have one name")
    for call in trace["calls"]:
        for node in call["nodes"]:
            if node["op"] == "call":
                raise BadTrace("a call of a library where only launches are known")
            if node["op"] == "launch":
                _check_launch(node, kernels)


def _check_kernel(kernel: Any, texts: int) -> None:
    if not isinstance(kernel, dict) or kernel.keys() != {"text", "name", "params"}:
        raise BadTrace("kernels: not a kernel")
    if type(kernel["text"]) is not int or not 0 <= kernel["text"] < texts:
        raise BadTrace("kernels: no such text")
    check_name(kernel["name"])
    params = kernel["params"]
    if not isinstance(params, str) or len(params) > native_plan.MAX_ARGS:
        raise BadTrace(f"{kernel['name']}: no parameters")
    if not CODES.issuperset(params):
        raise BadTrace(f"{kernel['name']}: a parameter of no known type")


def _check_launch(node: dict, kernels: list[dict]) -> None:
    index = node["kernel"]
    if type(index) is not int or not 0 <= index < len(kernels):
        raise BadTrace("launch: no such kernel")
    name, params = kernels[index]["name"], kernels[index]["params"]
    if node.get("tuned"):
        raise BadTrace(f"{name}: nothing is tuned here")
    options, args = node["options"], node["args"]
    if not isinstance(options, dict) or options.keys() != {"block", "shared"}:
        raise BadTrace(f"{name}: not the options of a launch")
    _check_sizes(name, node["grid"], MAX_GRID)
    x, y, z = _check_sizes(name, options["block"], MAX_BLOCK)
    if x * y * z > MAX_THREADS:
        raise BadTrace(f"{name}: more than {MAX_THREADS} threads in a block")
    shared = options["shared"]
    if type(shared) is not int or not 0 <= shared <= MAX_SHARED_BYTES:
        raise BadTrace(f"{name}: not a size of shared memory")
    if not isinstance(args, dict) or list(args) != [f"p{i}" for i in range(len(params))]:
        raise BadTrace(f"{name}: not one argument for each parameter")
    for code, arg in zip(params, args.values()):
        if not _fits(code, arg):
            raise BadTrace(f"{name}: an argument does not fit its parameter")


def _check_sizes(name: str, sizes: Any, most: tuple[int, ...]) -> list[int]:
    if not isinstance(sizes, list) or len(sizes) != 3:
        raise BadTrace(f"{name}: not three dimensions")
    for size, limit in zip(sizes, most):
        if type(size) is not int or not 1 <= size <= limit:
            raise BadTrace(f"{name}: a dimension is not 1 to {limit}")
    return sizes


def _fits(code: str, arg: Any) -> bool:
    if code == "P":
        return arg is None or (isinstance(arg, dict) and arg.keys() == {"t"})
    try:
        _number(code, arg)
    except (TypeError, struct.error, OverflowError):
        return False
    return True


def _number(code: str, arg: Any) -> plan.Number:
    kinds = {"?": bool, "f": float, "d": float}
    value = real(arg) if code in "fd" else arg
    if type(value) is not kinds.get(code, int):
        raise TypeError
    data = struct.pack(f"<{code}", value)
    return plan.Number(len(data), int.from_bytes(data, "little"))


def requests(trace: dict) -> list[dict]:
    """A cubin for each text with a kernel that is launched."""
    launched = {
        node["kernel"]
        for call in trace["calls"]
        for node in call["nodes"]
        if node["op"] == "launch"
    }
    found: dict[int, list[dict]] = {}
    for index in sorted(launched):
        kernel = trace["kernels"][index]
        launch = {"kernel": index, "name": kernel["name"], "params": kernel["params"]}
        found.setdefault(kernel["text"], []).append(launch)
    return [
        {"text": text, "texts": [trace["texts"][text]], "launches": launches}
        for text, launches in found.items()
    ]


@dataclass(frozen=True)
class Built:
    """One cubin: which kernels of the trace it has, their names in it, and the types of
    their parameters."""

    keys: tuple[int, ...]
    symbols: tuple[str, ...]
    params: tuple[str, ...]
    module: plan.Module

    @classmethod
    def parse(cls, data: bytes, request: dict) -> "Built":
        """The answer to a request. Raises BadTrace."""
        head, data = native_plan.split(data)
        launches = request["launches"]
        entries = head.get("entries")
        if not isinstance(entries, dict) or entries.keys() != {k["name"] for k in launches}:
            raise BadTrace("the answer of a build has other kernels than those asked for")
        symbols = tuple(entries[launch["name"]] for launch in launches)
        if not all(isinstance(symbol, str) and SYMBOL.fullmatch(symbol) for symbol in symbols):
            raise BadTrace("the answer of a build has no symbol for a kernel")
        return cls(
            tuple(launch["kernel"] for launch in launches),
            symbols,
            tuple(launch["params"] for launch in launches),
            plan.Module("cubin", data),
        )


def nodes(
    call: dict, places: list[int], built: list[Built], config: Any = None
) -> list[plan.Launch]:
    """What the launches among a call's nodes become, in their order."""
    known = native_plan.numbers(built)
    params = {key: codes for b in built for key, codes in zip(b.keys, b.params)}
    found = []
    for node in call["nodes"]:
        if node["op"] != "launch":
            continue
        args = zip(params[node["kernel"]], node["args"].values())
        launch = plan.Launch(
            function=known[node["kernel"]],
            grid=tuple(node["grid"]),
            block=tuple(node["options"]["block"]),
            shared=node["options"]["shared"],
            params=tuple(_param(code, arg, places) for code, arg in args),
        )
        found.append(launch)
    return found


def _param(code: str, arg: Any, places: list[int]) -> plan.Param:
    if code != "P":
        return _number(code, arg)
    if arg is None:
        return plan.Number(8, 0)
    return native_plan.pointer(arg["t"], places)
