"""Cuts a graph into contiguous parts by dynamic programming.

Views, masks, constants and integers are glue: they move to the first node that uses them, and what
can be made from the task's arguments alone is made again in every part that needs it. What remains
is a line of steps. A cut between two of them costs the bytes that cross it, tensors beyond one
output or four inputs, and unequal work; tensors that are not finite, or so large or small that no
tolerance means anything, may not cross."""

import math
from dataclasses import dataclass, field

from decompose.capture import Graph, Node, Ref

PARTS = {"coarse": 2, "medium": 3, "fine": 9}
INPUTS = 4  # tensors that a part preferably takes at most
RMS = 2e-3, 5e2  # of a tensor that may cross; the judge allows twice that
IMBALANCE = 2.0  # what unequal work costs, in units of the task's own bytes
EXTRA = 1.5  # what a second output costs, or a fifth input
POSITIONS = 400  # cuts that are considered
VIEWS = {
    "transpose", "permute", "view", "reshape", "expand", "expand_as", "unsqueeze", "squeeze",
    "flatten", "unflatten", "__getitem__", "narrow", "select", "chunk", "split", "unbind", "T", "mT",
    "H", "mH", "data", "contiguous", "detach", "clone", "to", "float", "type_as", "unfold", "swapaxes",
    "swapdims", "movedim", "view_as", "view_as_real", "repeat", "repeat_interleave", "Flatten",
    "Identity", "Dropout", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones",
    "tril", "triu", "flip", "roll", "cat", "stack", "pad", "dropout", "Unflatten",
}  # fmt: skip
JOINS = {"cat", "stack", "pad", "roll", "flip", "tril", "triu", "clone", "repeat"}


@dataclass
class Part:
    """Nodes in order, the tensors that come in (arguments of the task first) and go out."""

    nodes: list[int] = field(default_factory=list)
    inputs: list[Ref] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    flops: int = 0


class NoCut(Exception):
    """The reason why there are no parts."""


def short_name(node: Node) -> str:
    return type(node.layer).__name__ if node.layer is not None else node.target.rpartition(".")[2]


def is_glue(node: Node) -> bool:
    if node.kind not in ("call", "module"):
        return True
    return short_name(node) in VIEWS or not any(o.floating for o in node.outs)


class Line:
    """The graph as a line of steps: `at` is each node's position; free nodes have none."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.free = self._free()
        self.users: dict[int, list[int]] = {}
        live = self._live()
        for node in graph.nodes:
            if node.index in live:
                for ref in node.refs():
                    self.users.setdefault(ref.node, []).append(node.index)
        self.live = live
        self.at = self._positions()
        self.length = 1 + max(self.at.values(), default=-1)

    def _live(self) -> set[int]:
        live, todo = set(), [self.graph.output.node]
        while todo:
            index = todo.pop()
            if index not in live:
                live.add(index)
                todo += [r.node for r in self.graph.nodes[index].refs()]
        return live

    def _free(self) -> set[int]:
        """Made from arguments, parameters and constants by glue alone, or without arguments."""
        free: set[int] = set()
        constant: set[int] = set()
        for node in self.graph.nodes:
            above = [r.node for r in node.refs()]
            if node.kind == "literal" or node.kind == "call" and all(a in constant for a in above):
                constant.add(node.index)
                free.add(node.index)
            elif node.kind in ("input", "state"):
                free.add(node.index)
            elif is_glue(node) and all(a in free for a in above):
                free.add(node.index)
        return free

    def _positions(self) -> dict[int, int]:
        graph, at = self.graph, {}
        steps = [n for n in graph.nodes if n.index in self.live and n.index not in self.free]
        for node in steps:
            if not is_glue(node):
                at[node.index] = len(at)
        if not at:
            raise NoCut("forward computes nothing that could be cut")
        for node in reversed(steps):  # glue goes to its first user
            if is_glue(node):
                users = [at[u] for u in self.users.get(node.index, []) if u in at]
                if users:
                    at[node.index] = min(users)
        for node in steps:  # and to where it comes from if only the output uses it
            if node.index not in at:
                at[node.index] = max(at[r.node] for r in node.refs() if r.node in at)
        return at

    # ---- parts ----

    def crossing(self, cut: int) -> list[Ref]:
        """Tensors made before position `cut` and used from there on."""
        found: dict[Ref, None] = {}
        for index, where in self.at.items():
            if where >= cut:
                for ref in self.graph.nodes[index].refs():
                    if ref.node in self.at and self.at[ref.node] < cut:
                        found[ref] = None
        if self.at.get(self.graph.output.node, cut) < cut:
            found[self.graph.output] = None
        return sorted(found, key=lambda r: (r.node, r.out))

    def part(self, low: int, high: int) -> Part:
        """Positions low to high - 1, with the free nodes that they need."""
        mine = {i for i, where in self.at.items() if low <= where < high}
        todo, nodes, inputs = list(mine), set(mine), {}
        while todo:
            for ref in self.graph.nodes[todo.pop()].refs():
                node = self.graph.nodes[ref.node]
                if ref.node in nodes:
                    continue
                if ref.node in self.free and node.kind != "input":
                    nodes.add(ref.node)
                    todo.append(ref.node)
                else:
                    inputs[ref] = None
        outputs = {
            Ref(i, o): None
            for i in sorted(mine)
            for o in range(len(self.graph.nodes[i].outs))
            if self._leaves(Ref(i, o), high)
        }
        ordered = sorted(inputs, key=lambda r: (self.graph.nodes[r.node].kind != "input", r.node, r.out))
        work = sum(self.graph.nodes[i].flops for i in mine)
        return Part(sorted(nodes), ordered, list(outputs), work)

    def _leaves(self, ref: Ref, high: int) -> bool:
        if ref == self.graph.output:
            return True
        return any(
            self.at.get(u, -1) >= high and ref in self.graph.nodes[u].refs()
            for u in self.users.get(ref.node, [])
        )


def may_cross(graph: Graph, ref: Ref) -> bool:
    out = graph.out(ref)
    return out.floating and RMS[0] <= out.rms <= RMS[1]


def cost(line: Line, part: Part, share: float, scale: float, total: int) -> float:
    graph = line.graph
    outputs = [r for r in part.outputs if r != graph.output]
    if not all(may_cross(graph, r) for r in outputs) or not part.inputs or not part.outputs:
        return math.inf
    crossing = sum(graph.out(r).bytes for r in outputs) / scale
    extra = max(0, len(part.outputs) - 1) + max(0, len(part.inputs) - INPUTS)
    return crossing + EXTRA * extra + IMBALANCE * abs(part.flops / total - share)


def positions(line: Line) -> list[int]:
    """Where cuts are considered: everywhere, or where the fewest bytes cross."""
    graph = line.graph
    everywhere = []
    for cut in range(1, line.length):
        refs = line.crossing(cut)
        if refs and all(may_cross(graph, r) for r in refs):
            everywhere.append((sum(graph.out(r).bytes for r in refs) * len(refs), cut))
    return sorted(cut for _, cut in sorted(everywhere)[:POSITIONS])


def cut(graph: Graph, wanted: int) -> list[Part]:
    """At most `wanted` parts, at least two."""
    line = Line(graph)
    ends = [0, *positions(line), line.length]
    scale = sum(graph.nodes[i].outs[0].bytes for i in graph.inputs) + graph.out(graph.output).bytes
    total = max(1, sum(graph.nodes[i].flops for i in line.at))
    for count in range(min(wanted, len(ends) - 1), 1, -1):
        found = best(line, ends, count, scale, total)
        if found is not None:
            return found
    raise NoCut("there is no place to cut: no tensor there is finite and of moderate size")


def best(line: Line, ends: list[int], count: int, scale: float, total: int) -> list[Part] | None:
    """The cheapest cut into so many parts, by dynamic programming over their ends."""
    parts: dict[tuple[int, int], tuple[float, Part]] = {}

    def looked(i: int, j: int) -> tuple[float, Part]:
        if (i, j) not in parts:
            part = line.part(ends[i], ends[j])
            parts[i, j] = cost(line, part, 1 / count, scale, total), part
        return parts[i, j]

    last = len(ends) - 1
    table: list[dict[int, tuple[float, int]]] = [{0: (0.0, -1)}]
    for k in range(1, count + 1):
        row: dict[int, tuple[float, int]] = {}
        for j in range(k, last + 1) if k < count else [last]:
            options = [
                (before + looked(i, j)[0], i)
                for i, (before, _) in table[-1].items()
                if i < j
            ]
            if options and min(options)[0] < math.inf:
                row[j] = min(options)
        table.append(row)
    if last not in table[count]:
        return None
    found, j = [], last
    for k in range(count, 0, -1):
        i = table[k][j][1]
        found.insert(0, looked(i, j)[1])
        j = i
    return found
