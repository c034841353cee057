"""The judge's side of CUDA C++ kernels that Python launches: what a trace may contain, what to
compile, and the plan for an executor. Trace and lane are hostile."""

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from judge import cubin, native_plan, tuning
from judge.native_plan import ARGUMENTS, address, check_texts, is_address, plain_name
from judge.traces import BadTrace, Call, Launch, Refused, Trace, listed, number, text, three, whole
from shared import plan
from shared.plan import BLOCK, GRID, SHARED_BYTES, THREADS

INTERPRETED = False  # family.py
CODES = frozenset("P?bBhHiIqQfd")  # of a parameter: an address, or as in Python's struct
SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,3999}")


# ---- what a trace may say ------------------------------------------------------------


def check(trace: Trace) -> None:
    check_parts(trace, _check_kernel, _check_launch)


def check_parts(
    trace: Trace,
    check_kernel: Callable[[dict, int], None],
    check_launch: Callable[[Launch, Call, list[dict]], None],
) -> None:
    check_texts(trace)
    for kernel in trace.kernels:
        check_kernel(kernel, len(trace.texts))
    if len({(k["text"], k["name"]) for k in trace.kernels}) < len(trace.kernels):
        raise BadTrace("two kernels with one name")
    for call in trace.calls:
        for launch in call.launches():
            check_launch(launch, call, trace.kernels)


def _check_kernel(kernel: dict, texts: int) -> None:
    if kernel.keys() != {"text", "name", "params"}:
        raise BadTrace("a malformed kernel")
    whole(kernel["text"], 0, texts - 1, "a text")
    plain_name(kernel["name"])
    if not CODES.issuperset(text(kernel["params"], ARGUMENTS, "the parameters")):
        raise BadTrace("a parameter of an unknown type")


def launched(launch: Launch, kernels: list[dict], known: set[str]) -> tuple[dict, dict]:
    """Checks what all launches have, and returns the kernel and the options."""
    told = launch.told
    if launch.op != "launch" or launch.tuned:
        raise BadTrace("a library call in a trace of launches")
    kernel = kernels[whole(told.get("kernel"), 0, len(kernels) - 1, "a kernel's number")]
    options, args = told.get("options"), told.get("args")
    if not isinstance(options, dict) or options.keys() != known:
        raise BadTrace("malformed options")
    three(told.get("grid"), GRID, "a grid")
    whole(math.prod(three(options["block"], BLOCK, "a block")), 1, THREADS, "a block's number of threads")
    whole(options["shared"], 0, SHARED_BYTES, "shared memory")
    if not isinstance(args, dict) or list(args) != [f"p{i}" for i in range(len(kernel["params"]))]:
        raise BadTrace("a launch needs as many arguments as parameters")
    return kernel, options


def _check_launch(launch: Launch, call: Call, kernels: list[dict]) -> None:
    kernel, _ = launched(launch, kernels, {"block", "shared"})
    for code, arg in zip(kernel["params"], launch.told["args"].values()):
        if code != "P":
            _number(code, arg)
        elif not is_address(arg, call):
            raise BadTrace("a pointer that is not a tensor")


def _number(code: str, arg: object) -> plan.Number:
    value = number(arg, "an argument")
    if type(value) is not {"?": bool, "f": float, "d": float}.get(code, int):
        raise BadTrace("an argument of another type than its parameter")
    try:
        data = struct.pack(f"<{code}", value)
    except (struct.error, OverflowError):
        raise BadTrace("an argument that does not fit its parameter") from None
    return plan.Number(len(data), int.from_bytes(data, "little"))


# ---- what has to be compiled ---------------------------------------------------------


def requests(trace: Trace) -> dict:
    """One cubin for each text with a kernel that is launched."""
    launched = {n.told["kernel"] for call in trace.calls for n in call.launches()}
    found: dict[int, list] = {}
    for index in sorted(launched):
        kernel = trace.kernels[index]
        found.setdefault(kernel["text"], []).append([kernel["name"], kernel["params"]])
    return {"objects": [{"text": t, "launches": launches} for t, launches in found.items()]}


@dataclass(frozen=True)
class Built:
    """A lane's answer: each cubin, and its kernels by their names in the trace. A driver reads as
    many bytes of parameters as the cubin says, so the sizes must match those in the trace."""

    objects: tuple[bytes, ...]
    functions: tuple[tuple[int, str, tuple[int, str]], ...]  # cubin, symbol, text and name

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        asked = requests(trace)["objects"]
        head, objects = native_plan.split(data, len(asked))
        entries = listed(head.get("entries"), len(asked), "entries")
        if len(entries) != len(asked):
            raise BadTrace("entries of the compiler are missing")
        functions = []
        for i, (told, symbols) in enumerate(zip(asked, entries)):
            if len(listed(symbols, len(told["launches"]), "symbols")) != len(told["launches"]):
                raise BadTrace("symbols of the compiler are missing")
            for (name, _), symbol in zip(told["launches"], symbols):
                if not SYMBOL.fullmatch(text(symbol, 4000, "a symbol")):
                    raise BadTrace("a malformed symbol")
                functions.append((i, symbol, (told["text"], name)))
        _check_objects(trace, objects, functions)
        return Built(tuple(objects), tuple(functions))


def _check_objects(trace: Trace, objects: list[bytes], functions: list[tuple]) -> None:
    told = {(k["text"], k["name"]): _sizes(k["params"]) for k in trace.kernels}
    try:
        takes = [cubin.parameters(data) for data in objects]
        for data, kernels in zip(objects, takes):
            cubin.check(data, kernels)
    except cubin.BadCubin as problem:
        said = f"the compiled kernels cannot be used: {problem}; keep what lasts in a tensor"
        raise Refused("cubin", said) from None
    for index, symbol, key in functions:
        if takes[index].get(symbol) != told[key]:
            raise BadTrace("parameters that the kernel does not have")


def _sizes(params: str | list[int]) -> tuple[int, ...]:
    """Sizes in bytes, also for parameters given as codes."""
    return tuple(n if isinstance(n, int) else 8 if n == "P" else struct.calcsize(f"<{n}") for n in params)


# ---- what is executed ----------------------------------------------------------------


class Maker:
    """Turns the launches of a trace into nodes of a plan."""

    def __init__(self, trace: Trace, built: Built, at: int) -> None:
        self.kernels, self.built = trace.kernels, built
        self.index = {key: i for i, (_, _, key) in enumerate(built.functions)}

    def modules(self) -> tuple[plan.Module, ...]:
        return tuple(plan.Module("cubin", data) for data in self.built.objects)

    def functions(self) -> tuple[plan.Function, ...]:
        return tuple(plan.Function(i, symbol) for i, symbol, _ in self.built.functions)

    def node(self, launch: Launch, part: Call, places: list[int], config: int) -> plan.Launch:
        told = launch.told
        kernel = self.kernels[told["kernel"]]
        args = zip(kernel["params"], told["args"].values())
        return plan.Launch(
            function=self.index[kernel["text"], kernel["name"]],
            grid=tuple(told["grid"]),
            block=tuple(told["options"]["block"]),
            shared=told["options"]["shared"],
            params=tuple(
                address(arg, places) if code == "P" else _number(code, arg) for code, arg in args
            ),
        )


# ---- what a reader is told -----------------------------------------------------------


name, views, scratch = tuning.kernel_name, native_plan.views, native_plan.scratch
