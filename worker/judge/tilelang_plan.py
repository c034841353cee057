"""The judge's side of TileLang: what launches of a trace may say, what has to be compiled for
them, and what an executor is asked to do. Trace and lane are hostile; neither the language
nor its compiler is imported here. Formats: tilelang_record.py and tilelang_lane.py."""

import json
import math
import re
from dataclasses import dataclass

from judge import cubin, tuning
from judge.native_plan import unique_views
from judge.traces import BadTrace, Call, Launch, Refused, Trace, View, listed, number, text, view
from judge.traces import whole
from shared import plan
from shared.plan import BLOCK, GRID, ITEM, THREADS

INTERPRETED, HOST_CODE = False, False  # family.py
PARAMETERS = 256
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,250}")
_MAP_TYPES = 13  # so many has CUtensorMapDataType


# ---- what a trace may say ------------------------------------------------------------


def check(trace: Trace) -> None:
    """BadTrace unless every kernel and every launch is of the form that a recorder writes.
    What a kernel's IR may contain, the lane checks before it reads it."""
    for kernel in trace.kernels:
        _check_kernel(kernel, len(trace.texts))
    tuning.check_launches(trace, _check_launch)


def _check_kernel(told: dict, texts: int) -> None:
    if told.keys() != {"name", "text", "configs", "flags"}:
        raise BadTrace("a kernel of another form")
    if not isinstance(told["name"], str) or not _NAME.fullmatch(told["name"]):
        raise BadTrace("a kernel's name")
    whole(told["text"], 0, texts - 1, "a text's number")
    if not isinstance(told["configs"], dict) or len(told["configs"]) > 100:
        raise BadTrace("pass configurations")
    for flag in listed(told["flags"], 40, "compiler flags"):
        text(flag, 200, "a compiler flag")


def _check_launch(told: dict, call: Call, kernels: int) -> None:
    args, options = told.get("args"), told.get("options")
    if not isinstance(args, dict) or len(args) > PARAMETERS:
        raise BadTrace("the arguments of a launch")
    if list(args) != [f"p{i}" for i in range(len(args))]:
        raise BadTrace("the order of a launch's arguments")
    for arg in args.values():
        if isinstance(arg, dict) and arg.keys() == {"t"}:
            view(arg["t"], call.buffers)
        else:
            number(arg)
    if not isinstance(options, dict) or not options.keys() <= {"kernel"}:
        raise BadTrace("the options of a launch")
    if options:
        whole(options["kernel"], 0, kernels - 1, "a kernel's number")


# ---- what has to be compiled ---------------------------------------------------------


def requests(trace: Trace) -> dict:
    """The distinct launches: of tensors shapes and strides, which sizes of a grid and of
    tensor maps depend on."""
    return {"launches": [told for told, _ in tuning.distinct(trace, _request, _key)]}


def _request(launch: Launch, config: int) -> dict:
    told = launch.at(config)
    args = [a["t"][3:5] if isinstance(a, dict) and "t" in a else a for a in told["args"].values()]
    return {"kernel": told["options"].get("kernel", launch.told["kernel"]), "args": args}


def _key(told: dict) -> str:
    return json.dumps([told["kernel"], told["args"]])


# ---- what was compiled ---------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """One launch of a function. `params` are ("p", argument, bytes), ("n", size, bits) or
    ("m", argument, bytes, dtype, shape, strides, box, swizzle, fill)."""

    function: int
    params: tuple[tuple, ...]
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cooperative: bool = False
    pdl: bool = False


@dataclass(frozen=True)
class Built:
    """A lane's answer. `launches` are nodes by the key of a request; what an autotuner has
    to do without is not there."""

    modules: tuple[plan.Module, ...]
    functions: tuple[plan.Function, ...]
    launches: dict[str, tuple[Node, ...]]
    failures: tuple[str, ...]

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        try:
            head, binaries = data.split(b"\n", 1)
            told = json.loads(head)
            functions = [_read_function(f) for f in listed(told["functions"], 1000, "functions")]
            modules = _read_modules(told["modules"], functions, binaries)
            asked = tuning.distinct(trace, _request, _key)
            if len(listed(told["launches"], len(asked), "answers")) != len(asked):
                raise BadTrace("answers of the compiler are missing")
            launches, failures = _read_launches(told["launches"], asked, modules, functions)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as problem:
            raise BadTrace(f"the compiler's answer cannot be read: {problem}") from None
        except cubin.BadCubin as problem:
            raise Refused("cubin", f"a compiled kernel is not one: {problem}") from None
        return Built(modules, tuple(functions), launches, failures)


def _read_function(told: dict) -> plan.Function:
    if not isinstance(told["name"], str) or not _SYMBOL.fullmatch(told["name"]):
        raise BadTrace("a function's name")
    return plan.Function(whole(told["module"], 0, 1000, "a module's number"), told["name"])


def _read_modules(told: list, functions: list, binaries: bytes) -> tuple[plan.Module, ...]:
    found = []
    parts = tuning.pieces(told, binaries, tuning.BUILT_BYTES, "binaries")
    for index, (one, data) in enumerate(parts):
        if one["kind"] == "cubin":
            cubin.check(data, [f.name for f in functions if f.module == index])
        elif one["kind"] != "library" or data[:4] != b"\x7fELF":
            raise BadTrace("a module of another kind")
        found.append(plan.Module(one["kind"], data))
    if any(f.module >= len(found) for f in functions):
        raise BadTrace("a function without a module")
    return tuple(found)


def _read_launches(told: list, asked: list, modules: tuple, functions: list) -> tuple:
    launches, failures = {}, []
    for (request, key), answer in zip(asked, told):
        if "error" in answer and request["tuned"]:
            failures.append(text(answer["error"], 10_000, "an error"))
            continue
        nodes = [_read_node(n, request, functions) for n in listed(answer["nodes"], 1000, "nodes")]
        for node in nodes:
            if modules[functions[node.function].module].kind == "library":
                if any(kind == "m" for kind, *_ in node.params):
                    raise BadTrace("a tensor map for a library")
        launches[key] = tuple(nodes)
    return launches, tuple(failures)


def _read_node(told: dict, request: dict, functions: list) -> Node:
    function = whole(told["function"], 0, len(functions) - 1, "a function's number")
    listed_params = listed(told["params"], PARAMETERS, "params")
    params = tuple(_read_param(p, request["args"]) for p in listed_params)
    if "grid" not in told:
        return Node(function, params)
    grid = _three(told["grid"], GRID, "a grid")
    block = _three(told["block"], BLOCK, "a block")
    cluster = _three(told["cluster"], (16, 16, 16), "a cluster")
    if math.prod(block) > THREADS or math.prod(cluster) > 16:
        raise Refused("block", f"a block of {math.prod(block)} threads; {THREADS} are the most")
    shared = whole(told["shared"], 0, 256 << 10, "shared memory")
    flags = told["cooperative"], told["pdl"]
    if not all(isinstance(flag, bool) for flag in flags):
        raise BadTrace("a flag of a launch")
    return Node(function, params, grid, block, cluster, shared, *flags)


def _three(told: object, most: tuple, what: str) -> tuple[int, int, int]:
    if len(listed(told, 3, what)) != 3:
        raise BadTrace(what)
    return tuple(whole(n, 1, high, what) for n, high in zip(told, most))


def _read_param(told: list, args: list) -> tuple:
    kind = listed(told, 9, "a parameter")[0]
    if kind == "n":
        _, size, bits = told
        size = whole(size, 1, 8, "a number's size")
        return "n", size, whole(bits, 0, (1 << 8 * size) - 1, "a number's bits")
    if kind not in ("p", "m"):
        raise BadTrace("a parameter of another kind")
    index = whole(told[1], 0, len(args) - 1, "an argument's number")
    if not isinstance(args[index], list):
        raise BadTrace("an address of a number")
    offset = whole(told[2], 0, 1 << 42, "an offset")
    if kind == "p":
        return "p", index, offset
    return ("m", index, offset, *_read_map(*told[3:]))


def _read_map(dtype: int, shape: list, strides: list, box: list, swizzle: int, fill: int) -> tuple:
    rank = len(listed(shape, 5, "a tensor map"))
    if not 0 < rank == len(box) == len(strides) + 1:
        raise BadTrace("a tensor map's dimensions")
    return (
        whole(dtype, 0, _MAP_TYPES - 1, "a tensor map's type"),
        tuple(whole(n, 1, 1 << 32, "a tensor map's size") for n in shape),
        tuple(whole(n, 0, (1 << 40) - 1, "a tensor map's stride") for n in strides),
        tuple(whole(n, 1, 256, "a tensor map's box") for n in listed(box, 5, "a box")),
        whole(swizzle, 0, 3, "a swizzle"),
        whole(fill, 0, 1, "a fill"),
    )


# ---- what is executed ----------------------------------------------------------------


def scratch(trace: Trace, built: Built) -> int:
    """Kernels of this language have none."""
    return 0


class Maker:
    """Turns the launches of a trace into nodes of a plan; one may be several launches."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        self.trace, self.built = trace, built

    def modules(self) -> tuple[plan.Module, ...]:
        return self.built.modules

    def functions(self) -> tuple[plan.Function, ...]:
        return self.built.functions

    def node(self, launch: Launch, part: Call, places: list[int], config: int) -> list[plan.Node]:
        found = tuning.chosen(self.built.launches, launch, config, _request, _key)
        if found is None:
            said = "\n".join(self.built.failures[:1])
            of = name(self.trace, launch)
            raise Refused("compile", f"no configuration of {of} compiles: {said}")
        config, nodes = found
        args = list(launch.at(config)["args"].values())
        return [self._node(node, args, part, places) for node in nodes]

    def _node(self, node: Node, args: list, part: Call, places: list[int]) -> plan.Node:
        params = tuple(_param(p, args, part, places) for p in node.params)
        module = self.built.modules[self.built.functions[node.function].module]
        if module.kind == "library":
            return plan.Call(node.function, params)
        return plan.Launch(node.function, node.grid, node.block, node.shared, params, node.cluster,
                           node.cooperative, node.pdl)  # fmt: skip


def _param(told: tuple, args: list, part: Call, places: list[int]) -> plan.Param:
    if told[0] == "n":
        return plan.Number(told[1], told[2])
    kind, index, offset, *rest = told
    found = view(args[index]["t"], part.buffers)
    start = found.offset * ITEM[found.dtype] + offset
    at, room = places[found.buffer] + start, part.buffers[found.buffer].bytes - start
    if room < 0:
        raise BadTrace("an address outside its tensor")
    if kind == "p":
        return plan.Pointer(at)
    dtype, shape, strides, box, swizzle, fill = rest
    steps = (ITEM[found.dtype], *strides)
    if sum((n - 1) * step for n, step in zip(shape, steps)) + ITEM[found.dtype] > room:
        raise BadTrace("a tensor map outside its tensor")
    return plan.TensorMap(at, dtype, shape, strides, box, swizzle, fill)


# ---- what a reader is told -----------------------------------------------------------


name = tuning.kernel_name


def views(launch: Launch, call: Call) -> list[View]:
    """The tensors that a launch is given, each once."""
    return unique_views(list(launch.told["args"].values()), call)
