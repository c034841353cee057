"""One call of a trace in a form that does not depend on how it was recorded: two files whose calls
have the same form allocate, move and launch the same. Nothing that reaches a kernel is left out.

The setup's moves come first, as if forward made them. State has the reference's names, constants are
their bytes, kernels the text of their checked trees with what their names mean; memory is numbered in the order
of its first use."""

import hashlib
from collections.abc import Callable

from judge.traces import Call, Launch, Move, Trace, View, view
from shared.program import ITEM


def form_difference(judged: list, again: list) -> str | None:
    """The first step in which they differ, for a reader."""
    for i, (a, b) in enumerate(zip(judged[0], again[0]), 1):
        if a != b:
            return f"step {i} ({b[0]}) is not the one that was judged"
    if len(judged[0]) != len(again[0]):
        return f"it has {len(again[0])} steps, {len(judged[0])} were judged"
    return None if judged == again else "its memory or output is not what was judged"


class Form:
    """Of one call. `choose` gives a launch of a call in the configuration that counts, `function` a kernel's
    text, and the names that it takes from its file, by its number."""

    def __init__(self, trace: Trace, names: dict[str, str], choose: Callable, function: Callable) -> None:
        self.trace, self.names, self.choose, self.function = trace, names, choose, function
        self.numbers: dict[tuple, int] = {}  # of memory, by what it is
        self.memory: list[list] = []
        self.kernels: dict[int, object] = {}

    def of(self, call: Call) -> list:
        nodes = []
        for part in (self.trace.setup, call):
            self.part = part
            nodes += [self.node(n) for n in part.nodes]
        return [_without_refills(nodes), self.value(call.output), self.memory]

    # ---- memory ----

    def buffer(self, index: int) -> int:
        b = self.part.buffers[index]
        if b.kind == "state":
            key = ("state", self.names[b.key])
        elif b.kind == "const":
            raw = self.trace.blob[b.key : b.key + b.bytes]
            key = ("const", hashlib.sha256(raw).hexdigest())
        elif b.kind == "input":
            key = ("input", b.key)
        else:
            key = ("kept", b.key) if b.key is not None else ("new", id(self.part), index)
        if key not in self.numbers:
            self.numbers[key] = len(self.memory)
            origin = key if b.kind in ("input", "state", "const") else ("new",)
            self.memory.append([*origin, b.bytes, b.dtype])
        return self.numbers[key]

    def view(self, v: View) -> list:
        return [self.buffer(v.buffer), v.dtype, v.offset, list(v.shape), list(v.strides)]

    # ---- nodes ----

    def node(self, node: Move | Launch) -> list:
        if isinstance(node, Move):
            to, held = self.view(node.to), self.part.buffers[node.to.buffer]
            whole = node.to.count() * ITEM[held.dtype] == held.bytes and not node.to.overlaps_itself()
            if node.op == "fill" and whole:
                return ["fill", to[0], repr(node.value)]  # all of it, in whatever shape
            return [node.op, to, self.view(node.source) if node.source else repr(node.value)]
        spec = self.choose(node, self.part)
        if "kernel" in node.spec:
            what: object = self.kernel(spec["options"].get("kernel", node.spec["kernel"]))
        else:
            what = [self.trace.texts[node.spec["text"]], node.spec["function"]]
        options = {k: v for k, v in spec.get("options", {}).items() if v is not None}
        return [node.op, what, self.value(spec.get("grid")), self.value(spec["args"]), self.value(options)]

    def value(self, raw: object) -> object:
        """Any part of a launch or of the output; numbers keep their types."""
        if isinstance(raw, dict):
            kinds = raw.keys()
            if kinds in ({"t"}, {"tensor"}):
                return ["t", self.viewed(*raw.values())]
            if kinds in ({"desc"}, {"reinterpret"}):
                ((kind, (base, *rest)),) = raw.items()
                return [kind, self.viewed(base), self.value(rest)]
            if kinds == {"kernel"}:
                return ["kernel", self.kernel(raw["kernel"])]
            return sorted([repr(k), self.value(v)] for k, v in raw.items())
        if isinstance(raw, list):
            return [self.value(part) for part in raw]
        return repr(raw)

    def viewed(self, raw: object) -> list:
        return self.view(view(raw, self.part.buffers))

    # ---- kernels ----

    def kernel(self, index: int) -> object:
        if index not in self.kernels:
            self.kernels[index] = f"an outer kernel, {len(self.kernels)}"  # should it call itself
            self.kernels[index] = self._kernel(index, self.trace.kernels[index])
        return self.kernels[index]

    def _kernel(self, index: int, spec: dict) -> list:
        if "bind" not in spec:  # a function of a text
            return [self.trace.texts[spec["text"]], {k: repr(v) for k, v in spec.items() if k != "text"}]
        tree, used = self.function(index)
        bound = {name: self.value(spec["bind"][name]) for name in sorted(used)}
        flags = {k: repr(v) for k, v in spec.items() if k not in ("line", "bind", "defaults")}
        return [tree, bound, flags]


def _without_refills(nodes: list) -> list:
    """Of whole buffers that are filled one after the other (hooks of an autotuner do it for each
    configuration) the last value, in the order of the buffers."""
    made: list = []
    run: dict[int, list] = {}
    for node in [*nodes, None]:
        if node is not None and node[0] == "fill" and isinstance(node[1], int):
            run[node[1]] = node
            continue
        made += [run[buffer] for buffer in sorted(run)]
        run = {}
        made += [node] if node is not None else []
    return made
