"""The judge's side of TileLang: what launches in a trace may contain, what to compile for them, and
the plan for an executor. Trace and lane are hostile; neither the language nor its compiler is
imported here. Formats: tilelang_record.py and tilelang_lane.py."""

import json
import re
from dataclasses import dataclass

from judge import cubin, hosted_plan, launches, native_plan, tuning
from judge.launches import PARAMETERS, Base, Node
from judge.traces import BadTrace, Call, Launch, Refused, Trace, listed, number, text, view
from judge.traces import headed, whole
from shared import plan
from shared.plan import ITEM

INTERPRETED = False  # family.py
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


# ---- what a trace may say ------------------------------------------------------------


def check(trace: Trace) -> None:
    """Raises BadTrace unless every kernel and launch has the form that a recorder writes. The lane
    checks the contents of a kernel's IR before it reads it."""
    for kernel in trace.kernels:
        _check_kernel(kernel, len(trace.texts))
    tuning.check_launches(trace, _check_launch)


def _check_kernel(told: dict, texts: int) -> None:
    if told.keys() != {"name", "text", "configs", "flags"}:
        raise BadTrace("a malformed kernel")
    if not isinstance(told["name"], str) or not _NAME.fullmatch(told["name"]):
        raise BadTrace("a malformed kernel name")
    whole(told["text"], 0, texts - 1, "a text's number")
    if not isinstance(told["configs"], dict) or len(told["configs"]) > 100:
        raise BadTrace("malformed pass configurations")
    for flag in listed(told["flags"], 40, "compiler flags"):
        text(flag, 200, "a compiler flag")


def _check_launch(told: dict, call: Call, kernels: int) -> None:
    args, options = told.get("args"), told.get("options")
    if not isinstance(args, dict) or len(args) > PARAMETERS:
        raise BadTrace("malformed arguments of a launch")
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
    """The distinct launches. For tensors, the shapes and strides, which grids and tensor maps
    depend on."""
    return {"launches": [told for told, _ in tuning.distinct(trace, _request, _key)]}


def _request(launch: Launch, config: int) -> dict:
    told = launch.at(config)
    args = [a["t"][3:5] if isinstance(a, dict) and "t" in a else a for a in told["args"].values()]
    return {"kernel": told["options"].get("kernel", launch.told["kernel"]), "args": args}


def _key(told: dict) -> str:
    return json.dumps([told["kernel"], told["args"]])


# ---- what was compiled ---------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """A lane's answer. `launches` maps the key of a request to nodes; configurations of an
    autotuner that failed are missing."""

    modules: tuple[plan.Module, ...]
    functions: tuple[plan.Function, ...]
    launches: dict[str, tuple[Node, ...]]
    failures: tuple[str, ...]

    @staticmethod
    def parse(data: bytes, trace: Trace) -> "Built":
        try:
            told, binaries = headed(data)
            functions = launches.read_functions(told["functions"])
            modules = launches.read_modules(told["modules"], functions, binaries, headers=True)
            asked = tuning.distinct(trace, _request, _key)
            if len(listed(told["launches"], len(asked), "answers")) != len(asked):
                raise BadTrace("answers of the compiler are missing")
            made, failures = _read_launches(told["launches"], asked, modules, functions)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as problem:
            raise BadTrace(f"the compiler's answer cannot be read: {problem}") from None
        except cubin.BadCubin as problem:
            raise Refused("cubin", f"a compiled kernel is not one: {problem}") from None
        return Built(modules, tuple(functions), made, failures)


def _read_launches(told: list, asked: list, modules: tuple, functions: list) -> tuple:
    found, failures = {}, []
    for (request, key), answer in zip(asked, told):
        if "error" in answer and request["tuned"]:
            failures.append(text(answer["error"], 10_000, "an error"))
            continue
        args = request["args"]
        nodes = [
            launches.read_node(n, lambda i: i < len(args) and isinstance(args[i], list), functions)
            for n in listed(answer["nodes"], launches.NODES, "nodes")
        ]
        for node in nodes:
            if modules[functions[node.function].module].kind == "library":
                if any(kind not in ("p", "n") for kind, *_ in node.params):
                    raise BadTrace("a tensor map for a library")
        found[key] = tuple(nodes)
    return found, tuple(failures)


# ---- what is executed ----------------------------------------------------------------


class Maker(hosted_plan.Maker):
    """Turns the launches of a trace into nodes of a plan; one may become several launches."""

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
        def base(index: int) -> Base:
            found = view(args[index]["t"], part.buffers)
            start = found.offset * ITEM[found.dtype]
            return Base(places[found.buffer] + start, part.buffers[found.buffer].bytes - start)

        if self.built.modules[self.built.functions[node.function].module].kind == "library":
            return plan.Call(node.function, launches.bound(node.params, base))
        return launches.bind(node, base)


# ---- what a reader is told -----------------------------------------------------------


name, views, scratch = tuning.kernel_name, native_plan.views, native_plan.scratch
