"""The judge's side of host functions that launch kernels: what a trace may contain, what a lane has
to find out, and the plan for an executor. The lane runs a function without data. An executor then
replays the launches that the function made there. Trace and lane are hostile. Formats:
native_record.py and hosted_lane.py."""

import json
from dataclasses import dataclass

from judge import cubin, feedback, launches, native_plan
from judge.judging import Verdict
from judge.launches import Base, Node
from judge.traces import BadTrace, Call, Launch, Refused, Trace, headed, listed, text
from shared import plan
from shared.plan import ITEM

INTERPRETED = False  # family.py
_WIDTHS = ("", "32", "64", "128")  # bytes of a swizzle

check, name = native_plan.check, native_plan.name
views, scratch = native_plan.views, native_plan.scratch


# ---- what has to be found out --------------------------------------------------------


def requests(trace: Trace) -> dict:
    """One program for each text, and the distinct calls in the order of the trace."""
    objects = [
        {"text": told["text"], "functions": told["launches"]}
        for told in native_plan.requests(trace)["objects"]
    ]
    return {"objects": objects, "calls": list(_distinct(trace).values())}


def _distinct(trace: Trace) -> dict[str, dict]:
    found: dict[str, dict] = {}
    for call in trace.calls:
        for launch in call.launches():
            told = _request(launch, call)
            found.setdefault(json.dumps(told), told)
    return found


def _request(launch: Launch, call: Call) -> dict:
    """An argument is a word, or a buffer and an offset in bytes. Buffers are numbered in order of
    appearance; `sizes` has their sizes."""
    told, buffers = launch.told, _buffers(launch)
    args: list = []
    for arg in told["args"]:
        if isinstance(arg, dict) and "t" in arg:
            buffer, dtype, offset, *_ = arg["t"]
            args.append([buffers.index(buffer), offset * ITEM[dtype]])
        else:
            args.append(0 if arg is None else native_plan.number_word(arg))
    sizes = [call.buffers[buffer].bytes for buffer in buffers]
    return {"text": told["text"], "function": told["function"], "args": args, "sizes": sizes}


def _buffers(launch: Launch) -> list[int]:
    given = [a["t"][0] for a in launch.told["args"] if isinstance(a, dict) and "t" in a]
    return list(dict.fromkeys(given))


# ---- what was found out --------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """A lane's answer. `calls` maps the text of a request to nodes."""

    modules: tuple[plan.Module, ...]
    functions: tuple[plan.Function, ...]
    calls: dict[str, tuple[Node, ...]]

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        try:
            told, binaries = headed(data)
            functions = launches.read_functions(told["functions"])
            modules = launches.read_modules(told["modules"], functions, binaries)
            if any(module.kind != "cubin" for module in modules):
                raise BadTrace("an unknown kind of module")
            takes = [cubin.parameters(module.data) for module in modules]
            asked = _distinct(trace)
            if len(listed(told["launches"], len(asked), "answers")) != len(asked):
                raise BadTrace("answers of the lane are missing")
            calls = {
                key: _read_call(answer, request, functions, takes)
                for (key, request), answer in zip(asked.items(), told["launches"])
            }
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as problem:
            raise BadTrace(f"the lane's answer cannot be read: {problem}") from None
        except cubin.BadCubin as problem:
            said = f"the compiled kernels cannot be used: {problem}; keep what lasts in a tensor"
            raise Refused("cubin", said) from None
        return Built(modules, tuple(functions), calls)


def _read_call(
    answer: dict, request: dict, functions: list[plan.Function], takes: list[dict]
) -> tuple[Node, ...]:
    """`takes` has the parameter sizes of each module's kernels."""
    if "error" in answer:
        said = feedback.clean(text(answer["error"], 10_000, "an error"))
        raise Verdict("launch_error", "compile", f"A kernel cannot be launched: {said}", message=said)
    sizes, nodes = request["sizes"], []
    for index, told in enumerate(listed(answer["nodes"], launches.NODES, "nodes")):
        node = launches.read_node(told, lambda i: i < len(sizes), functions)
        kernel = functions[node.function]
        given = tuple(len(data) for kind, data, *_ in node.params if kind == "s")
        if len(given) < len(node.params) or given != takes[kernel.module].get(kernel.name):
            raise BadTrace("parameters that the kernel does not have")
        where = f"{request['function']}: launch {index + 1}, of {kernel.name[:200]}"
        _check_room(node, sizes, where)
        nodes.append(node)
    return tuple(nodes)


def _check_room(node: Node, sizes: list[int], where: str) -> None:
    """An honest function can also exceed its tensor, so the message says how to fix it."""
    for _, _, patches in node.params:
        for _, patch in patches:
            if launches.reach(patch) > sizes[patch[1]]:
                said = f"{where}: {_outside(patch, sizes[patch[1]])}"
                raise Verdict("launch_error", "compile", said, message=said)


def _outside(patch: tuple, size: int) -> str:
    if patch[0] == "p":
        return f"an address {patch[2]} bytes behind the start of a tensor that has {size} bytes"
    shape, swizzle = patch[4], patch[7]
    told = (f"the tensor map of shape {list(shape)} (innermost first) needs "
            f"{launches.reach(patch)} bytes, but the tensor has {size}. ")  # fmt: skip
    if not swizzle:
        return told + "Give the map the tensor's own shape."
    width = _WIDTHS[swizzle]
    return told + (
        f"TMA moves swizzled tiles in pieces of {width} bytes: pad the tensor's last dimension to a "
        f"multiple of {width} bytes."
    )


# ---- what is executed ----------------------------------------------------------------


class Maker:
    """Turns the calls of a trace into nodes of a plan, one for each launch."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        self.trace, self.built = trace, built

    def modules(self) -> tuple[plan.Module, ...]:
        return self.built.modules

    def functions(self) -> tuple[plan.Function, ...]:
        return self.built.functions

    def node(self, launch: Launch, part: Call, places: list[int], config: int) -> list[plan.Node]:
        buffers = _buffers(launch)

        def base(index: int) -> Base:
            return Base(places[buffers[index]], part.buffers[buffers[index]].bytes)

        nodes = self.built.calls[json.dumps(_request(launch, part))]
        return [launches.bind(node, base) for node in nodes]
