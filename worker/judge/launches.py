"""One format of launches for all languages: what a trace may say of them, what a compiler is asked,
and what it answers. A recorder and a compiler are hostile, and whatever a compiler answers is executed
over the memory of the trials. So all of that is checked here, by one reader and one check of bounds, and an
accepted launch gets no address outside the buffers of the tensors that the trace gives to it.

What differs per language is a compiler's work, which has no data: it makes nodes of launches. Where
Triton's kernels are interpreted, the executor gets the trace's own launches instead.

A compiler is asked the distinct launches of a trace, in the order of their first appearance:

  {"kernel": k, "grid": […], "args": {…}, "options": {…}, "tuned": bool} |
  {"text": t, "function": name, "args": […], "tuned": bool}

as in the trace, but of a tensor it gets TENSOR: its number among the launch's tensors, and what
`Family.describe` gives. `groups` are the configurations of each launch, of which one must compile. The
answer is a line of JSON, with the binaries behind each other after it:

  {"modules": [{"kind": "cubin", "bytes": n} |
               {"kind": "library", "bytes": n, "text": t, "source": text, "options": [word, …]}],
   "functions": [{"module": m, "name": symbol}],
   "launches": [{"nodes": [NODE, …]} | {"error": text}]}, or {"malformed": text} of the trace
  NODE  = {"function": f, "grid": [x, y, z], "block": […], "cluster": […], "shared": bytes,
           "cooperative": bool, "pdl": bool, "scratch": bytes, "params": [PARAM, …]};
          of a library's function "function" and "params" alone
  PARAM = ["p", tensor, bytes] (an address, counted from the tensor's first element) |
          ["n", size, bits] | ["w", bytes] (an address in the launch's scratch memory) |
          ["m", tensor, bytes, dtype, shape, strides, box, swizzle, fill] (a tensor map) |
          ["s", hex, [[offset, "p" or "m"], …]] (bytes, and what is put into them)

Of a library of C, `source` was compiled in place of the text, with these options, the compiler first.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judge import cubin, feedback, region, shared_object, triton_trace
from judge.judging import Verdict
from judge.traces import BadTrace, Call, Launch, Refused, Trace, View, headed, listed, plain_number, text, three
from judge.traces import view, whole_number
from shared import native, plain_c, program
from shared.kernel_language import is_plain
from shared.program import BLOCK, GRID, ITEM, MAP_BYTES, MAP_ITEM, STRUCT_BYTES, THREADS

ARGUMENTS = 1000  # of a launch in a trace
PARAMETERS = 1024  # of a node
NODES = 1000  # of a launch
CONFIGURATIONS = 64  # of an autotuner
BINARIES = 4096
BUILT_BYTES = 64 << 20  # of all binaries of a trace together
SCRATCH_BYTES = 4 << 30
_REACH = 1 << 42  # bytes from a tensor's first element
_OPTION = re.compile(r"[\w.,=+-]+", re.ASCII)
_SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,3999}")
_CLUSTER = (16, 16, 16)
CANNOT = "A kernel cannot be launched: "  # what a compiler's errors begin with that are not its own words


# ---- what differs per language ---------------------------------------------------------


def _aligned(v: View, numbers: dict[int, int], call: Call) -> list:
    """All that a Triton kernel depends on: buffers start at multiples of 256."""
    return [v.dtype, v.offset * ITEM[v.dtype] % 16]


def _shaped(v: View, numbers: dict[int, int], call: Call) -> list:
    return [v.dtype, list(v.shape), list(v.strides), v.is_dense()]


def _placed(v: View, numbers: dict[int, int], call: Call) -> list:
    """With the number and the size of its buffer, and the bytes from there."""
    at = [numbers.setdefault(v.buffer, len(numbers)), v.offset * ITEM[v.dtype]]
    return [*_shaped(v, numbers, call), *at, call.buffers[v.buffer].bytes]


@dataclass(frozen=True)
class Family:
    """What a trace of a language has. `kernel` and `options` are the keys of a kernel and of a
    launch's options; without `kernel` functions of texts are called. `kinds` of arguments are there
    besides numbers and null."""

    kernel: frozenset[str]
    options: frozenset[str]
    kinds: frozenset[str]
    describe: Callable[[View, dict[int, int], Call], list] = _shaped
    headers: bool = False  # of the language's own bring empty objects along (cubin.py)
    interpreted: bool = False  # on the CPU, and compiled besides


def _family(kernel: str, options: str, kinds: str = "t", *rest: object) -> Family:
    return Family(*(frozenset(words.split()) for words in (kernel, options, kinds)), *rest)


FAMILIES = {
    "triton": _family(triton_trace.KERNEL, triton_trace.OPTIONS, triton_trace.KINDS, _aligned,
                      False, True),
    "native": _family("", ""),
    "hosted": _family("", "", "t", _placed),
    "cuda": _family("text name params", "block shared"),
    "tilelang": _family("text name configs flags", "kernel", "t", _shaped, True),
    "cute": _family("text name params", "block shared cluster cooperative pdl", "b"),
}  # fmt: skip


# ---- what a trace may say --------------------------------------------------------------


def check_launches(trace: Trace, family: Family) -> None:
    """Raises BadTrace or Refused unless every kernel and launch has a known form and stays within
    the buffers of its call. A compiler refuses what its language does not have."""
    for source in trace.texts:
        try:
            source.encode()  # it reaches a compiler through a file
        except UnicodeEncodeError:
            raise BadTrace("a text that is not valid Unicode") from None
    if trace.kernels and not family.kernel:
        raise BadTrace("kernels in a trace of library calls")
    for kernel in trace.kernels:
        _check_kernel(kernel, trace, family)
    for call in trace.calls:
        for launch in call.launches():
            if launch.op != ("launch" if family.kernel else "call"):
                raise BadTrace("a launch in a trace of library calls, or a call in one of launches")
            if len(launch.tuned) > CONFIGURATIONS:
                raise BadTrace("too many configurations")
            for spec in (launch.spec, *launch.tuned):
                _check_launch(spec, call, trace, family)
            if family.kernel:
                whole_number(launch.spec["kernel"], 0, len(trace.kernels) - 1, "a kernel's number")
            else:
                whole_number(launch.spec["text"], 0, len(trace.texts) - 1, "a text")
                _check_symbol(launch.spec["function"])
    if not family.kernel:
        try:
            native.called([n.spec for call in trace.calls for n in call.launches()])
        except ValueError as problem:
            raise BadTrace(str(problem)) from None


def _check_kernel(spec: dict, trace: Trace, family: Family) -> None:
    if family.interpreted:
        triton_trace.check_kernel(spec, len(trace.kernels))
    elif spec.keys() != family.kernel:
        raise BadTrace("a malformed kernel")
    else:
        whole_number(spec["text"], 0, len(trace.texts) - 1, "a text")
    _check_symbol(spec["name"])


def _check_symbol(name: object) -> None:
    if not _SYMBOL.fullmatch(text(name, 4000, "a function's name")):
        raise BadTrace("a malformed function name")


def _check_launch(spec: dict, call: Call, trace: Trace, family: Family) -> None:
    args = spec["args"]
    if not family.kernel:
        listed(args, ARGUMENTS, "the arguments")
    elif not isinstance(args, dict) or len(args) > ARGUMENTS or not all(map(is_plain, args)):
        raise BadTrace("malformed arguments of a launch")
    elif not family.interpreted and list(args) != [f"p{i}" for i in range(len(args))]:
        raise BadTrace("the order of a launch's arguments")
    for arg in args.values() if isinstance(args, dict) else args:
        _check_argument(arg, call, trace, family.kinds)
    if not family.kernel:
        return
    if not listed(spec["grid"], 3, "a grid"):
        raise BadTrace("a grid without dimensions")
    for size, most in zip(spec["grid"], GRID):
        if size == 0:
            raise Refused("grid-empty", "a kernel is launched on a grid without programs")
        whole_number(size, 1, most, "a grid's dimension")
    options = spec["options"]
    if not isinstance(options, dict) or not options.keys() <= family.options:
        raise BadTrace("the options of a launch")
    if family.interpreted:
        triton_trace.check_options(options)
    if "kernel" in options:
        whole_number(options["kernel"], 0, len(trace.kernels) - 1, "a kernel's number")


def _check_argument(arg: object, call: Call, trace: Trace, kinds: frozenset[str]) -> None:
    kind = next(iter(arg), None) if isinstance(arg, dict) else "text" if isinstance(arg, str) else None
    if "b" in kinds:
        if not isinstance(arg, dict) or arg.keys() not in ({"b"}, {"b", "t", "o"}):
            raise BadTrace("an unknown kind of argument")
        text(arg["b"], 2 * STRUCT_BYTES, "an argument's bytes")
        if "t" in arg:
            view(arg["t"], call.buffers)
            whole_number(arg["o"], 0, _REACH, "an address in a tensor")
    elif kind in kinds:
        triton_trace.check_argument(arg, call, len(trace.kernels))
    elif arg is not None:
        plain_number(arg, "an argument")


# ---- what a compiler is asked ----------------------------------------------------------


def raw_tensors(spec: dict) -> Iterator[list]:
    """The tensors of a launch as they came, in the order of the arguments."""
    args = spec["args"]
    for arg in args.values() if isinstance(args, dict) else args:
        yield from _tensors(arg)


def _tensors(arg: object) -> Iterator[list]:
    for kind, held in arg.items() if isinstance(arg, dict) else ():
        if kind == "t":
            yield held
        elif kind in ("desc", "reinterpret"):
            yield held[0]
        elif kind == "tuple":
            for part in held:
                yield from _tensors(part)


def views(launch: Launch, call: Call) -> list[View]:
    """The tensors of a launch, without duplicates."""
    return list(dict.fromkeys(view(raw, call.buffers) for raw in raw_tensors(launch.spec)))


def launch_name(trace: Trace, launch: Launch) -> str:
    """The kernel's or the function's."""
    kernel = launch.spec.get("kernel")
    return launch.spec["function"] if kernel is None else trace.kernels[kernel]["name"]


def _request(launch: Launch, config: int, call: Call, family: Family) -> dict:
    numbers: dict[int, int] = {}
    count = iter(range(1 << 30))

    def described(raw: list) -> list:
        return [next(count), *family.describe(view(raw, call.buffers), numbers, call)]

    def argument(arg: object) -> object:
        if not isinstance(arg, dict):
            return arg
        made = {}
        for kind, held in arg.items():
            if kind == "tuple":
                held = [argument(part) for part in held]
            elif kind == "t":
                held = described(held)
            elif kind in ("desc", "reinterpret"):
                held = [described(held[0]), *held[1:]]
            made[kind] = held
        return made

    said = launch.at(config)
    args = said["args"]
    made = {key: launch.spec[key] for key in ("kernel", "text", "function") if key in launch.spec}
    made |= {key: said[key] for key in ("grid", "options") if key in said}
    of = {n: argument(arg) for n, arg in args.items()} if isinstance(args, dict) else [*map(argument, args)]
    return made | {"args": of}


def _distinct(trace: Trace, family: Family) -> dict[str, tuple[dict, int]]:
    """What to compile, by its key, with its number of tensors. `tuned`: it may fail to compile."""
    found: dict[str, tuple[dict, int]] = {}
    for call in trace.calls:
        for launch in call.launches():
            for config in range(launch.configurations()):
                asked = _request(launch, config, call, family)
                key = json.dumps(asked)
                before = found[key][0]["tuned"] if key in found else True
                asked["tuned"] = bool(launch.tuned) and before
                found[key] = asked, sum(1 for _ in raw_tensors(launch.at(config)))
    return found


def requests(trace: Trace, family: Family) -> dict:
    """What is to be compiled."""
    found = _distinct(trace, family)
    order = {key: i for i, key in enumerate(found)}
    groups = {
        tuple(order[json.dumps(_request(launch, config, call, family))]
              for config in range(launch.configurations()))
        for call in trace.calls for launch in call.launches() if launch.tuned
    }  # fmt: skip
    return {"launches": [asked for asked, _ in found.values()], "groups": sorted(map(list, groups))}


# ---- what a compiler answers -----------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """One launch of a function. `params` are ("p", tensor, bytes), ("n", size, bits), ("w", bytes),
    ("m", tensor, bytes, dtype, shape, strides, box, swizzle, fill) or ("s", data, patches), where
    each patch is an offset and a "p" or an "m". Without a grid it calls a library's function."""

    function: int
    params: tuple[tuple, ...]
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] = (1, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cooperative: bool = False
    pdl: bool = False
    scratch: int = 0


@dataclass(frozen=True)
class Built:
    """A compiler's answer, checked. `launches` maps the key of a request to nodes; configurations of an
    autotuner that failed are missing. `sources` has of each text that became a library what was
    compiled in its place, and how."""

    modules: tuple[program.Module, ...]
    functions: tuple[program.Function, ...]
    launches: dict[str, tuple[Node, ...]]
    sources: dict[int, tuple[str, tuple[str, ...]]]

    @staticmethod
    def parse(data: bytes, trace: Trace, family: Family) -> "Built":
        """Raises BadTrace for an answer that is none, Refused for binaries that are not allowed, and
        a Verdict for an error that the compiler found."""
        try:
            header, binaries = headed(data)
            if "malformed" in header:
                raise BadTrace(feedback.clean(text(header["malformed"], 1000, "what is malformed")))
            functions = tuple(map(_read_function, listed(header["functions"], BINARIES, "functions")))
            modules = _read_modules(header["modules"], binaries, family)
            libraries = [one for one in header["modules"] if "source" in one]
            sources = dict(_read_source(one, len(trace.texts)) for one in libraries)
            if any(f.module >= len(modules) for f in functions):
                raise BadTrace("a function without a module")
            takes = [cubin.kernel_parameters(m.data) if m.kind == "cubin" else None for m in modules]
            asked = _distinct(trace, family)
            answers = listed(header["launches"], len(asked), "answers")
            if len(answers) != len(asked):
                raise BadTrace("answers of the compiler are missing")
            made = {}
            for (key, (request, count)), answer in zip(asked.items(), answers):
                nodes = _read_launch(answer, request["tuned"], count, functions, takes)
                if nodes is not None:
                    made[key] = nodes
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as problem:
            raise BadTrace(f"the compiler's answer cannot be read: {problem}") from None
        except cubin.BadCubin as problem:
            said = f"the compiled kernels cannot be used: {problem}; keep what lasts in a tensor"
            raise Refused("cubin", said) from None
        return Built(modules, functions, made, sources)

    def chosen(self, launch: Launch, config: int, call: Call, family: Family) -> tuple[int, tuple[Node, ...]]:
        """The configuration that runs where this one is asked for, and its nodes: if it is missing
        or did not compile, the first that did."""
        count = launch.configurations()
        for candidate in (min(config, count - 1), *range(count)):
            key = json.dumps(_request(launch, candidate, call, family))
            if key in self.launches:
                return candidate, self.launches[key]
        raise BadTrace("a launch that was not compiled")

    def scratch(self) -> int:
        """Bytes for the launch that needs the most: launches run one after the other."""
        most = max((node.scratch for nodes in self.launches.values() for node in nodes), default=0)
        if most > SCRATCH_BYTES:
            raise Refused("scratch", f"kernels need {most} bytes of scratch memory")
        return most


def _read_function(raw: dict) -> program.Function:
    _check_symbol(raw["name"])
    return program.Function(whole_number(raw["module"], 0, BINARIES, "a module's number"), raw["name"])


def _read_modules(raw: object, data: bytes, family: Family) -> tuple[program.Module, ...]:
    if len(data) > BUILT_BYTES:
        raise Refused("cubin", "the compiled kernels are too large")
    found, at = [], 0
    for one in listed(raw, BINARIES, "modules"):
        size = whole_number(one["bytes"], 1, BUILT_BYTES, "a module's size")
        part = data[at : at + size]
        at += size
        if one["kind"] == "cubin":
            cubin.check_cubin(part, cubin.kernel_parameters(part), family.headers)
        elif one["kind"] == "library":
            _check_library(part)
        else:
            raise BadTrace("an unknown kind of module")
        found.append(program.Module(one["kind"], part))
    if at != len(data):
        raise BadTrace("modules of another size")
    return tuple(found)


def _read_source(raw: dict, texts: int) -> tuple[int, tuple[str, tuple[str, ...]]]:
    """The source was checked before it was compiled. What is delivered is checked here."""
    source = text(raw["source"], BUILT_BYTES, "a compiled text")
    options = [text(word, 100, "an option") for word in listed(raw["options"], ARGUMENTS, "options")]
    try:
        plain_c.check(source)
    except plain_c.NotPlain as problem:
        raise BadTrace(f"the compiled text: {problem}") from None
    if not all(map(_OPTION.fullmatch, options)):
        raise BadTrace("an option of the compiler")
    return whole_number(raw["text"], 0, texts - 1, "a text"), (source, tuple(options))


def _check_library(data: bytes) -> None:
    try:
        shared_object.check_library(data)
    except shared_object.NotPure as problem:
        raise Verdict("compile_error", "compile", str(problem), message=str(problem)) from None
    except shared_object.BadLibrary as problem:
        raise BadTrace(f"the compiler's library is malformed: {problem}") from None


def _read_launch(
    answer: dict, tuned: bool, count: int, functions: tuple[program.Function, ...], takes: list
) -> tuple[Node, ...] | None:
    """None for a configuration of an autotuner that failed."""
    if "error" not in answer:
        raw = listed(answer["nodes"], NODES, "nodes")
        return tuple(_read_node(node, count, functions, takes) for node in raw)
    said = feedback.clean(text(answer["error"], 10_000, "an error"))
    if tuned:
        return None
    raise Verdict("launch_error", "compile", said, message=said.removeprefix(CANNOT))


def _read_node(raw: dict, count: int, functions: tuple[program.Function, ...], takes: list) -> Node:
    """`takes` has the sizes of the kernels' parameters for each module, None for a library. A driver
    reads as many bytes as a cubin says, so they must be there."""
    index = whole_number(raw["function"], 0, len(functions) - 1, "a function's number")
    function = functions[index]
    params = tuple(_read_param(p, count) for p in listed(raw["params"], PARAMETERS, "params"))
    if takes[function.module] is None:
        if any(kind not in ("p", "n") for kind, *_ in params):
            raise BadTrace("a library's function takes addresses and numbers")
        return Node(index, params)
    if tuple(map(_param_bytes, params)) != takes[function.module].get(function.name):
        raise BadTrace("parameters that the kernel does not have")
    grid, block = three(raw["grid"], GRID, "a grid"), three(raw["block"], BLOCK, "a block")
    cluster = three(raw["cluster"], _CLUSTER, "a cluster")
    if math.prod(block) > THREADS or math.prod(cluster) > 16:
        raise Refused("block", f"a block of {math.prod(block)} threads; at most {THREADS} are allowed")
    shared = whole_number(raw["shared"], 0, 256 << 10, "shared memory")
    flags = raw["cooperative"], raw["pdl"]
    if not all(isinstance(flag, bool) for flag in flags):
        raise BadTrace("a launch flag that is not a boolean")
    scratch = whole_number(raw["scratch"], 0, 1 << 50, "scratch memory")
    if any(at > scratch for kind, at, *_ in params if kind == "w"):
        raise BadTrace("an address outside the scratch memory")
    return Node(index, params, grid, block, cluster, shared, *flags, scratch)


def _param_bytes(param: tuple) -> int:
    kind, first, *_ = param
    return first if kind == "n" else len(first) if kind == "s" else MAP_BYTES if kind == "m" else 8


def _read_param(raw: list, count: int) -> tuple:
    """`count` is the number of tensors that the launch has."""
    kind, first, *rest = listed(raw, 9, "a parameter")
    if kind == "s":
        return _read_struct(first, *rest, count)
    if kind == "n":
        (bits,) = rest
        size = whole_number(first, 1, 8, "a number's size")
        return "n", size, whole_number(bits, 0, (1 << 8 * size) - 1, "a number's bits")
    if kind == "w":
        return "w", whole_number(first, 0, 1 << 50, "an address in scratch memory")
    if kind not in ("p", "m"):
        raise BadTrace("a parameter of another kind")
    index = whole_number(first, 0, count - 1, "a tensor's number")
    offset = whole_number(rest[0], -_REACH, _REACH, "an offset")
    return ("m", index, offset, *_read_map(*rest[1:])) if kind == "m" else ("p", index, offset)


def _read_struct(raw: str, patches: list, count: int) -> tuple:
    """Bytes, and the addresses and tensor maps in them, in order."""
    data = bytes.fromhex(text(raw, 2 * STRUCT_BYTES, "a parameter's bytes"))
    if not data:
        raise BadTrace("a parameter without bytes")
    found, end = [], 0
    for offset, patch in listed(patches, STRUCT_BYTES // 8, "addresses in a parameter"):
        if listed(patch, 9, "an address in a parameter")[0] not in ("p", "m"):
            raise BadTrace("a place in a parameter")
        read = _read_param(patch, count)
        size, step = (MAP_BYTES, 64) if read[0] == "m" else (8, 8)
        whole_number(offset, end, len(data) - size, "a place in a parameter")
        if offset % step:
            raise BadTrace("a place in a parameter")
        found.append((offset, read))
        end = offset + size
    return "s", data, tuple(found)


def _read_map(dtype: int, shape: list, strides: list, box: list, swizzle: int, fill: int) -> tuple:
    rank = len(listed(shape, 5, "a tensor map"))
    if not 0 < rank == len(box) == len(strides) + 1:
        raise BadTrace("a tensor map's dimensions")
    return (
        whole_number(dtype, 0, len(MAP_ITEM) - 1, "a tensor map's type"),
        tuple(whole_number(n, 1, (1 << 32) - 1, "a tensor map's size") for n in shape),
        tuple(whole_number(n, 0, (1 << 40) - 1, "a tensor map's stride") for n in strides),
        tuple(whole_number(n, 1, 256, "a tensor map's box") for n in listed(box, 5, "a box")),
        whole_number(swizzle, 0, 3, "a swizzle"),
        whole_number(fill, 0, 1, "a fill"),
    )


# ---- what is executed ------------------------------------------------------------------


class Maker:
    """Turns the launches of a trace into nodes of a program; `at` is where scratch memory starts."""

    def __init__(self, built: Built, family: Family, at: int) -> None:
        self.built, self.family, self.at = built, family, at

    def nodes(self, launch: Launch, part: Call, places: list[int], config: int) -> list[program.Node]:
        config, nodes = self.built.chosen(launch, config, part, self.family)
        given = [view(raw, part.buffers) for raw in raw_tensors(launch.at(config))]
        spans = [(places[v.buffer], v.offset * ITEM[v.dtype], part.buffers[v.buffer].bytes) for v in given]
        return [self._node(node, spans) for node in nodes]

    def _node(self, node: Node, spans: list[tuple[int, int, int]]) -> program.Node:
        params = tuple(self._param(param, spans) for param in node.params)
        if node.grid is None:
            return program.Call(node.function, params, region.seen((start, size) for start, _, size in spans))
        return program.Launch(node.function, node.grid, node.block, node.shared, params, node.cluster,
                           node.cooperative, node.pdl)  # fmt: skip

    def _param(self, param: tuple, spans: list[tuple[int, int, int]]) -> program.Param:
        """The one place where addresses come from. `spans` has, for each tensor, where its buffer
        starts, the bytes from there to its first element, and the buffer's size."""
        kind, first, *rest = param
        if kind == "n":
            return program.Number(first, rest[0])
        if kind == "w":
            return program.Pointer(self.at + first)
        if kind == "s":
            return program.Struct(first, tuple((at, self._param(patch, spans)) for at, patch in rest[0]))
        start, before, size = spans[first]
        at = before + rest[0]
        if at < 0 or at + (_extent(*rest[1:4]) if kind == "m" else 0) > size:
            raise BadTrace("an address or a tensor map outside its tensor")
        return program.TensorMap(start + at, *rest[1:]) if kind == "m" else program.Pointer(start + at)


def _extent(dtype: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The bytes that a tensor map reaches."""
    steps = (MAP_ITEM[dtype], *strides)
    return sum((n - 1) * step for n, step in zip(shape, steps)) + MAP_ITEM[dtype]
