"""Cuts a graph into contiguous parts by dynamic programming.

Views, masks, constants and integers are glue: they move to the first node that uses them, and what
can be made from the task's arguments alone is made again in every part that needs it. What remains
is a line of steps. A cut between two of them costs the bytes that cross it, tensors beyond one
output or four inputs, and unequal work; tensors that are not finite, or so large or small that no
tolerance means anything, may not cross."""

import math
from dataclasses import dataclass, field

from decompose import loops
from decompose.capture import Graph, Node, Ref

PARTS = {"coarse": 2, "medium": 3, "fine": 9}
LIGHT = 0.02  # share of all work
INPUTS = 4  # tensors that a part preferably takes at most
RMS = 2e-3, 5e2  # of a tensor that may cross; the judge allows twice that
IMBALANCE = 2.0  # what unequal work costs, in units of the task's own bytes
GRAIN = 0.05  # differences of work that do not count
ORDERS = 40  # as many heavy nodes may be tried in other orders than the program's
THIN = 3.0  # what a part costs that does hardly anything
EXTRA = 1.5  # what a second output costs, or a fifth input
POSITIONS = 400, 90  # cuts that are considered for two parts, and for more
VIEWS = {
    "transpose", "permute", "view", "reshape", "expand", "expand_as", "unsqueeze", "squeeze",
    "flatten", "unflatten", "__getitem__", "narrow", "select", "chunk", "split", "unbind", "T", "mT",
    "H", "mH", "data", "contiguous", "detach", "clone", "to", "float", "type_as", "unfold", "swapaxes",
    "swapdims", "movedim", "view_as", "view_as_real", "repeat", "repeat_interleave", "Flatten",
    "Identity", "Dropout", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones",
    "t", "flip", "roll", "cat", "stack", "pad", "dropout", "Unflatten",
}  # fmt: skip
MASKS = {"masked_fill", "where", "tril", "triu"}  # these stay with what they mask


@dataclass
class Part:
    """Nodes in order, the tensors that come in (arguments of the task first) and go out. `steps`:
    those that are no constants and no views of arguments."""

    nodes: list[int] = field(default_factory=list)
    inputs: list[Ref] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    flops: int = 0
    steps: set[int] = field(default_factory=set)
    mark: frozenset[Ref] = frozenset()  # the tensors that cross where it starts


class NoCut(Exception):
    """The reason why there are no parts."""


def short_name(node: Node) -> str:
    return type(node.layer).__name__ if node.layer is not None else node.target.rpartition(".")[2]


def is_glue(node: Node) -> bool:
    if node.kind not in ("call", "module") or short_name(node) in MASKS:
        return True
    return short_name(node) in VIEWS or not any(o.floating for o in node.outs)


def alive(graph: Graph) -> set[int]:
    """The nodes that the output needs."""
    return alive_from(graph, [graph.output.node])


def alive_from(graph: Graph, nodes: list[int]) -> set[int]:
    live, todo = set(), list(nodes)
    while todo:
        index = todo.pop()
        if index not in live:
            live.add(index)
            todo += [r.node for r in graph.nodes[index].refs()]
    return live


class Line:
    """The graph as a line of steps: `at` is each node's position; free nodes have none. `first`: a
    node that comes as early as it can."""

    def __init__(self, graph: Graph, first: int | None = None) -> None:
        self.graph, self.first = graph, first
        self.free = self._free()
        self.users: dict[int, list[int]] = {}
        live = alive(graph)
        for node in graph.nodes:
            if node.index in live:
                for ref in node.refs():
                    self.users.setdefault(ref.node, []).append(node.index)
        self.live = live
        self.loop = loops.find(graph, live)
        self.marks: dict[int, frozenset[Ref]] = {}
        self.at = self._positions()
        self.length = 1 + max(self.at.values(), default=-1)

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
        order = [n.index for n in graph.nodes]
        if self.loop is not None:
            order = loops.order(graph, self.loop)
        order = self._settled(order)
        steps = [graph.nodes[i] for i in order if i in self.live and i not in self.free]
        for node in steps:
            if not is_glue(node):
                at[node.index] = len(at)
        if not at:
            raise NoCut("forward computes nothing that could be cut")
        for node in steps:
            above = [at[r.node] for r in node.refs() if r.node in at]
            if short_name(node) in MASKS and len(above) == 1 and \
                    sum(r.node not in self.free for r in node.refs()) == 1:
                at[node.index] = above[0]
        for node in reversed(steps):  # glue goes to its first user
            if is_glue(node) and node.index not in at:
                users = [at[u] for u in self.users.get(node.index, []) if u in at]
                if users:
                    at[node.index] = min(users)
        for node in steps:  # and to where it comes from if only the output uses it
            if node.index not in at:
                at[node.index] = max(at[r.node] for r in node.refs() if r.node in at)
        return at

    def _settled(self, order: list[int]) -> list[int]:
        """What is light waits for its first user if it is made from arguments alone, and otherwise
        follows what it is made from."""
        nodes = self.graph.nodes
        looped = self.loop.place if self.loop is not None else {}
        first = [] if self.first is None else [self.first]
        heavy = [i for i in order if i in looped or i in self.heavy()]
        waiting = [i for i in order if i in self.live and i not in self.free
                   and any(r.node not in self.free for r in nodes[i].refs())]  # fmt: skip
        done: dict[int, None] = {}
        for index in [*first, *heavy]:
            done |= dict.fromkeys(loops.settled(self.graph, [*done, index]))
            for i in waiting:
                if i not in done and i not in heavy and \
                        all(r.node in done or r.node in self.free for r in nodes[i].refs()):
                    done[i] = None
            waiting = [i for i in waiting if i not in done]
        return loops.settled(self.graph, [*done, *order])

    def heavy(self) -> set[int]:
        """The nodes that do the work."""
        total = sum(self.graph.nodes[i].flops for i in self.live)
        return {i for i in self.live - self.free if self.graph.nodes[i].flops > LIGHT * total}

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

    def mark(self, cut: int) -> frozenset[Ref]:
        if cut not in self.marks:
            self.marks[cut] = frozenset(self.crossing(cut))
        return self.marks[cut]

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
        return Part(sorted(nodes), ordered, list(outputs), work, mine, self.mark(low))

    def kinds(self, refs: list[Ref]) -> int:
        """How many different tensors; those of all iterations of a loop are one."""
        place = self.loop.place if self.loop is not None else {}
        return len({place[r.node][0] if r.node in place else r for r in refs})

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
    extra = max(0, line.kinds(part.outputs) - 1) + max(0, line.kinds(part.inputs) - INPUTS)
    done = part.flops / total
    thin = THIN if done < 0.25 * share else 0.0
    uneven = round(abs(done - share) / GRAIN) * GRAIN
    return crossing + EXTRA * extra + IMBALANCE * uneven + thin


def positions(line: Line, most: int) -> list[int]:
    """Where cuts are considered: everywhere, or where the fewest bytes cross."""
    graph = line.graph
    everywhere = []
    for cut in range(1, line.length):
        refs = line.crossing(cut)
        if refs and all(may_cross(graph, r) for r in refs):
            size = sum(graph.out(r).bytes for r in refs)
            everywhere.append((size * line.kinds(refs), cut))
    return sorted(cut for _, cut in sorted(everywhere)[:most])


def cut(graph: Graph, wanted: int, banned: set[frozenset[Ref]] = frozenset()) -> list[Part]:
    """At most `wanted` parts, at least two. No banned set of tensors crosses a cut."""
    plain = Line(graph)
    lines = [plain]
    if len(plain.heavy()) <= ORDERS:
        lines += [Line(graph, first) for first in sorted(plain.heavy())]
    scale = sum(graph.nodes[i].outs[0].bytes for i in graph.inputs) + graph.out(graph.output).bytes
    total = max(1, sum(graph.nodes[i].flops for i in plain.at))
    for count in range(wanted, 1, -1):
        found = []
        for number, line in enumerate(lines):
            places = positions(line, POSITIONS[wanted > 2])
            ends = [0, *(p for p in places if line.mark(p) not in banned), line.length]
            made = best(line, ends, count, scale, total) if count < len(ends) else None
            if made is not None:
                found.append((round(made[0], 3), number, made[1]))
        if found:
            return min(found, key=lambda f: f[:2])[2]
    raise NoCut("there is no place to cut: no tensor there is finite and of moderate size")


def best(line: Line, ends: list[int], count: int, scale: float,
         total: int) -> tuple[float, list[Part]] | None:  # fmt: skip
    """The cheapest cut into so many parts, and its cost, by dynamic programming over their ends. Of
    equal ones the latest counts: what is done to a tensor stays with what made it."""
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
                (before + looked(i, j)[0], -i)
                for i, (before, _) in table[-1].items()
                if i < j
            ]
            if options and min(options)[0] < math.inf:
                row[j] = min(options)[0], -min(options)[1]
        table.append(row)
    if last not in table[count]:
        return None
    found, j, spent = [], last, table[count][last][0]
    for k in range(count, 0, -1):
        i = table[k][j][1]
        found.insert(0, looked(i, j)[1])
        j = i
    return spent, found
