"""Finds the loop in an unrolled graph: calls that repeat with a period.

A long loop becomes two tasks, one step of it and a scan of a few steps. A short one stays what it
is, but its calls are put into an order in which it can be cut: first what the state of the loop
needs, for all iterations, then what reads the state (loop distribution)."""

from dataclasses import dataclass, field

import torch
from decompose.capture import Graph, Node, Ref, replaced

LONG = 16  # iterations from which on a loop is a recurrence
STEPS = 16  # of a scan
PERIOD = 200  # calls in an iteration, at most
WORK = 0.5  # share of the operations of a graph that its loop has at least
COVERED = 0.6  # share of the calls of a graph that a recurrence has at least


@dataclass
class Loop:
    """`roles[j][t]` is the node that plays role j in iteration t. The last iteration may be cut
    short: nothing uses the rest of it."""

    roles: list[list[int]]
    place: dict[int, tuple[int, int]] = field(default_factory=dict)  # node: (role, iteration)

    def __post_init__(self) -> None:
        self.place = {n: (j, t) for j, row in enumerate(self.roles) for t, n in enumerate(row)}

    @property
    def count(self) -> int:
        """Whole iterations."""
        return len(self.roles[-1])


def signature(graph: Graph, node: Node) -> tuple:
    """What two iterations have in common: the call, its shapes, but not which integers."""

    def plain(value: object) -> object:
        if isinstance(value, Ref):
            return "tensor"
        if isinstance(value, int) and not isinstance(value, bool):
            return "integer"
        return repr(value)

    spelled = repr(replaced((node.args, node.kwargs), plain))
    return node.target, spelled, tuple(o.shape for o in node.outs)


def find(graph: Graph, live: set[int]) -> Loop | None:
    """The loop that covers most calls; None if nothing repeats three times."""
    calls = [n for n in graph.nodes if n.kind in ("call", "module") and n.index in live]
    numbers: dict[tuple, int] = {}
    marks = [numbers.setdefault(signature(graph, n), len(numbers)) for n in calls]
    best: tuple[int, int, int, int] | None = None  # covered, -period, start, count
    for period in range(1, min(PERIOD, len(marks) // 3) + 1):
        run = 0
        for i in range(len(marks) - period, -1, -1):
            run = run + 1 if i + period < len(marks) and marks[i] == marks[i + period] else 0
            count = run // period + 1
            if count >= 3 and (best is None or (period * count, -period) >= best[:2]):
                best = period * count, -period, i, count
    if best is None:
        return None
    _, negative, start, count = best
    period = -negative
    end = start + period * count
    while end < len(marks) and marks[end] == marks[end - period]:
        end += 1
    loop = Loop([[calls[i].index for i in range(start + j, end, period)] for j in range(period)])
    work = sum(graph.nodes[i].flops for i in loop.place)
    return loop if work >= WORK * sum(n.flops for n in calls) else None


def order(graph: Graph, loop: Loop) -> list[int]:
    """The nodes in an order in which each role's iterations lie together as far as they can: the
    roles that the loop's state needs first."""
    groups = circles(graph, loop)
    state = next((g for g in groups if carries(graph, loop, g)), [])
    needed = above(graph, loop, set(state))
    first = [g for g in groups if set(g) & (needed | set(state))]
    rest = [g for g in groups if g not in first]
    ranked: list[int] = []
    for group in [*first, *rest]:
        for t in range(len(loop.roles[0])):
            ranked += [loop.roles[j][t] for j in sorted(group) if t < len(loop.roles[j])]
    inside = set(ranked)
    begin = min(loop.place)
    before = [n.index for n in graph.nodes if n.index < begin]
    after = [n.index for n in graph.nodes if n.index >= begin and n.index not in inside]
    return settled(graph, [*before, *ranked, *after])


def settled(graph: Graph, wanted: list[int]) -> list[int]:
    """The wanted order, with each node after what it needs."""
    done: dict[int, None] = {}

    def put(index: int) -> None:
        todo = [(index, False)]
        while todo:
            node, ready = todo.pop()
            if node in done:
                continue
            if ready:
                done[node] = None
                continue
            todo.append((node, True))
            todo += [(r.node, False) for r in graph.nodes[node].refs() if r.node not in done]

    for index in wanted:
        put(index)
    return list(done)


def edges(graph: Graph, loop: Loop) -> dict[int, set[int]]:
    """Role to role: whose results each uses."""
    found: dict[int, set[int]] = {j: set() for j in range(len(loop.roles))}
    for node, (role, _) in loop.place.items():
        for ref in graph.nodes[node].refs():
            if ref.node in loop.place:
                found[role].add(loop.place[ref.node][0])
    return found


def circles(graph: Graph, loop: Loop) -> list[list[int]]:
    """Roles that need each other, as groups, each after what it needs (Tarjan)."""
    uses = edges(graph, loop)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    groups: list[list[int]] = []

    def visit(v: int) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(uses[v]):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            groups.append(stack[at:])
            del stack[at:]

    for v in uses:
        if v not in index:
            visit(v)
    return groups


def carries(graph: Graph, loop: Loop, group: list[int]) -> bool:
    """Whether an iteration uses results of the one before it."""
    return any(
        ref.node in loop.place and loop.place[ref.node][1] == t - 1
        for j in group
        for t, node in enumerate(loop.roles[j])
        for ref in graph.nodes[node].refs()
    )


def above(graph: Graph, loop: Loop, group: set[int]) -> set[int]:
    uses, found, todo = edges(graph, loop), set(), list(group)
    while todo:
        for j in uses[todo.pop()]:
            if j not in found:
                found.add(j)
                todo.append(j)
    return found


# ---- one step --------------------------------------------------------------------------


@dataclass
class Step:
    """One iteration as a graph of its own. `origin`: the tensor of the whole graph that an input or
    a node's result is, and where it is a slice of one, its dimension and index."""

    graph: Graph
    state: dict[int, Ref]  # input node: what the iteration makes of it
    slices: dict[int, int]  # input node: the dimension that the loop runs over
    result: Ref | None  # what is collected over the iterations
    collected: int  # the dimension in which it is stacked
    origin: dict[Ref, tuple[Ref, int | None, int]]


def is_recurrence(graph: Graph, loop: Loop | None, live: set[int]) -> bool:
    if loop is None or loop.count < LONG:
        return False
    calls = sum(graph.nodes[i].kind in ("call", "module") for i in live)
    return len(loop.place) >= COVERED * calls and any(
        carries(graph, loop, g) for g in circles(graph, loop))


class _Stepping:
    """Takes one iteration out of the graph."""

    def __init__(self, graph: Graph, loop: Loop, live: set[int]) -> None:
        self.graph, self.loop, self.live = graph, loop, live
        self.t = loop.count // 2
        self.body = {row[self.t]: j for j, row in enumerate(loop.roles)}
        self.new = Graph([], Ref(0), [], graph.sizes, graph.wide)
        self.refs: dict[Ref, Ref] = {}
        self.state: dict[int, Ref] = {}
        self.slices: dict[int, int] = {}
        self.taken: dict[tuple[Ref, int], Ref] = {}
        self.origin: dict[Ref, tuple[Ref, int | None, int]] = {}

    def run(self) -> Step:
        carried = self.carried()
        for old in carried:
            self.refs[old] = self.input(old, None)
        for index in sorted(self.body):
            self.copy(self.graph.nodes[index])
        before = {self.graph.nodes[o.node].index: o for o in carried}
        for old in before.values():
            role, t = self.loop.place[old.node]
            self.state[self.refs[old].node] = self.refs[Ref(self.loop.roles[role][t + 1], old.out)]
        result, dim = self.collected()
        self.pack(result)
        return Step(self.new, self.state, self.slices, result, dim, self.origin)

    def carried(self) -> list[Ref]:
        """What the iteration gets from the one before it."""
        found: dict[Ref, None] = {}
        for index in sorted(self.body):
            for ref in self.graph.nodes[index].refs():
                if ref.node in self.loop.place and self.loop.place[ref.node][1] == self.t - 1:
                    found[ref] = None
        return list(found)

    def input(self, old: Ref, dim: int | None, at: int = 0) -> Ref:
        out = self.graph.out(old)
        source = self.graph.nodes[old.node]
        name = source.target if source.kind in ("input", "state") else source.name or "state"
        shape = out.shape if dim is None else out.shape[:dim] + out.shape[dim + 1 :]
        if dim is not None:
            name += "_t"
        node = Node(len(self.new.nodes), "input", self.unused(name.replace(".", "_")))
        node.outs = [type(out)(tuple(shape), out.dtype, out.rms)]
        self.new.nodes.append(node)
        self.new.inputs.append(node.index)
        ref = Ref(node.index)
        self.origin[ref] = old, dim, at
        if dim is not None:
            self.slices[node.index] = dim
        return ref

    def unused(self, name: str) -> str:
        taken = {self.new.nodes[i].target for i in self.new.inputs}
        n, tried = 1, name
        while tried in taken:
            n += 1
            tried = f"{name}_{n}"
        return tried

    def copy(self, node: Node) -> None:
        sliced = self.sliced(node)
        if sliced is not None:
            self.refs[Ref(node.index)] = self.part_of(node, *sliced)
            return
        for ref in node.refs():
            if ref not in self.refs:
                self.refs[ref] = self.outside(ref)
        self.add(node, *(replaced(a, self.renamed) for a in (node.args, node.kwargs)))
        for i in range(len(node.outs)):
            self.refs[Ref(node.index, i)] = Ref(len(self.new.nodes) - 1, i)
            self.origin[self.refs[Ref(node.index, i)]] = Ref(node.index, i), None, 0

    def add(self, like: Node, args: tuple, kwargs: dict) -> Node:
        node = Node(len(self.new.nodes), like.kind, like.target, args, kwargs, list(like.outs),
                    like.name, like.where, like.flops, like.layer, like.value)  # fmt: skip
        self.new.nodes.append(node)
        return node

    def renamed(self, value: object) -> object:
        return self.refs[value] if isinstance(value, Ref) else value

    def outside(self, ref: Ref) -> Ref:
        """Something that no iteration changes: made again in the step if it is a constant."""
        node = self.graph.nodes[ref.node]
        if node.kind == "literal" or node.kind == "call" and not node.refs():
            self.add(node, node.args, node.kwargs)
            return Ref(len(self.new.nodes) - 1, ref.out)
        return self.input(ref, None)

    def sliced(self, node: Node) -> tuple[Ref, int, int, tuple] | None:
        """x[.., t, ..], where x is the same for all iterations and t is not: the tensor, the
        dimension, t, and the rest of the index."""
        if node.target != "Tensor.__getitem__" or not isinstance(node.args[0], Ref):
            return None
        base, index = node.args[0], node.args[1]
        index = index if isinstance(index, tuple) else (index,)
        if base.node in self.loop.place or any(i is Ellipsis for i in index):
            return None
        role = self.loop.place[node.index][0]
        other = self.graph.nodes[self.loop.roles[role][self.t - 1]].args[1]
        other = other if isinstance(other, tuple) else (other,)
        differ = [i for i, (a, b) in enumerate(zip(index, other)) if a != b]
        if len(differ) != 1 or type(index[differ[0]]) is not int:
            return None
        dim = sum(i is not None for i in index[: differ[0]])
        rest = index[: differ[0]] + index[differ[0] + 1 :]
        return base, dim, index[differ[0]], rest

    def part_of(self, node: Node, base: Ref, dim: int, at: int, rest: tuple) -> Ref:
        if (base, dim) not in self.taken:
            self.taken[base, dim] = self.input(base, dim, at)
        ref = self.taken[base, dim]
        if all(i == slice(None) for i in rest):
            return ref
        while rest and rest[-1] == slice(None):
            rest = rest[:-1]
        self.add(node, (ref, rest), {})
        made = Ref(len(self.new.nodes) - 1)
        self.origin[made] = Ref(node.index), None, 0
        return made

    def collected(self) -> tuple[Ref | None, int]:
        """The result that is used after the loop, and the dimension in which it is stacked."""
        for node in self.graph.nodes:
            if node.index in self.loop.place or node.index not in self.live:
                continue
            for ref in node.refs():
                if ref.node in self.body and ref in self.refs:
                    short = node.target.rpartition(".")[2]
                    dim = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else 0)
                    return self.refs[ref], dim if short == "stack" and type(dim) is int else 0
        return None, 0

    def pack(self, result: Ref | None) -> None:
        """The step returns one tensor: the new state and the result, side by side."""
        outs = list(dict.fromkeys([*self.state.values(), *([result] if result else [])]))
        if len(outs) == 1:
            self.new.output = outs[0]
            return
        first = {self.new.out(r).shape[0] for r in outs}
        rows = first.pop() if len(first) == 1 else 1
        flat, width = [], 0
        for ref in outs:
            out = self.new.out(ref)
            count = torch.Size(out.shape).numel() // rows
            node = Node(len(self.new.nodes), "call", "Tensor.reshape", (ref, rows, -1))
            node.outs = [type(out)((rows, count), out.dtype, out.rms)]
            self.new.nodes.append(node)
            flat.append(Ref(node.index))
            self.origin[flat[-1]] = self.origin[ref]
            width += count
        node = Node(len(self.new.nodes), "call", "cat", (flat, 1), name="packed")
        node.outs = [type(out)((rows, width), out.dtype, 1.0)]
        self.new.nodes.append(node)
        self.new.output = Ref(node.index)


def step(graph: Graph, loop: Loop, live: set[int]) -> Step:
    return _Stepping(graph, loop, live).run()
