"""A decomposition of a task, as the contract has it (docs/CURRICULUM.md), made without a model."""

import re
from dataclasses import dataclass, field

import torch
from decompose import cut, emit, fit, loops
from decompose.capture import Graph, Node, NotCaptured, Ref, Task, capture
from decompose.cut import NoCut, Part, short_name

ID = 40  # characters
TRACED = 400  # nodes that a model is shown
TRIES = 12  # cuts that are tried
DRAWS = 4  # on which a piece is tried
STEADY = 4.0  # its outputs may differ that much
SHOWN = 6  # operators that a title names


def propose(source: str, problem: str, level: str, seed: int, init_seed: int) -> dict:
    """The proposal and the trace, or `not_captured` with the reason."""
    proposal = {"problem_id": problem, "level": level, "trace": []}
    try:
        task = Task(source, init_seed)
        graph, _ = capture(task, seed)
        proposal["trace"] = traced(graph)
        live = cut.alive(graph)
        loop = loops.find(graph, live)
        maker = Maker(task, graph, problem, seed)
        if loops.is_recurrence(graph, loop, live):
            return proposal | recurrence(maker, loops.step(graph, loop, live), level)
        return proposal | cut_up(maker, cut.PARTS[level])
    except (NotCaptured, NoCut) as reason:
        return proposal | {"subproblems": [], "composition": unclaimed(), "not_captured": str(reason)}


def unclaimed() -> dict:
    return {"claimed": False, "output": "", "covers": []}


def traced(graph: Graph) -> list[dict]:
    """What a model is shown of the graph."""
    rows = []
    for node in graph.nodes[:TRACED]:
        out = node.outs[0]
        rows.append({
            "name": node.name or (node.target if node.kind in ("input", "state") else f"n{node.index}"),
            "op": short_name(node) if node.kind in ("call", "module") else node.kind,
            "shape": list(out.shape), "dtype": emit.contract_dtype(out.dtype),
            "bytes": out.bytes, "flops": node.flops,
        })  # fmt: skip
    return rows


# ---- parts of a graph ------------------------------------------------------------


@dataclass
class Maker:
    """What pieces are made from: a graph, and how to get values of its tensors."""

    task: Task
    graph: Graph
    problem: str
    seed: int
    step: loops.Step | None = None
    fitted: dict[tuple[Ref, ...], fit.Fit | None] = field(default_factory=dict)
    worked: dict[str, bool] = field(default_factory=dict)  # by program

    def values(self, refs: set[Ref]) -> dict[Ref, torch.Tensor]:
        """Captured values of these tensors."""
        if self.step is None:
            return capture(self.task, self.seed, refs)[1]
        origin = {r: self.step.origin[r] for r in refs}
        held = capture(self.task, self.seed, {old for old, _, _ in origin.values()})[1]
        return {r: held[old] if dim is None else held[old].select(dim, at)
                for r, (old, dim, at) in origin.items()}  # fmt: skip

    def fit(self, values: dict[Ref, torch.Tensor], refs: list[Ref]) -> fit.Fit | None:
        """How these tensors are drawn, side by side if there are several: cuts that are tried one
        after the other have most of them in common."""
        key = tuple(refs)
        if key not in self.fitted:
            held = [values[r] for r in refs]
            self.fitted[key] = fit.fit(held[0]) if len(refs) == 1 else \
                fit.packed(held, emit.packed_rows(self.graph, refs))
        return self.fitted[key]

    def works(self, source: str) -> bool:
        """Pieces of several cuts may differ only in the comment that says which part they are."""
        program = source.split('"""', 2)[2]
        if program not in self.worked:
            self.worked[program] = works(source)
        return self.worked[program]

    def source(self, node: Node) -> str:
        return f"orig:{node.target}" if self.step is None else "fresh"


def cut_up(maker: Maker, wanted: int, prefix: str = "p") -> dict:
    """The cheapest cut whose pieces also work on inputs of their own: a quotient of two tensors that
    are drawn independently may be far larger than any in the task."""
    banned: set[frozenset[Ref]] = set()
    while True:
        parts = cut.cut(maker.graph, wanted, banned)
        made = partition(maker, parts, prefix)
        bad = {part.mark for part, piece in zip(parts, made["subproblems"])
               if not maker.works(piece["source"])}  # fmt: skip
        if not bad:
            return made
        if bad <= banned | {frozenset()} or len(banned) > TRIES:
            raise NoCut("no cut gives pieces that work on inputs of their own")
        banned |= bad


def works(source: str) -> bool:
    """Whether the output is finite and of moderate size."""
    space: dict = {"__name__": "piece"}
    exec(compile(source, "<piece>", "exec"), space)  # noqa: S102 - our own text
    if fit.QUANTILE_HELPER.strip() in source:
        space["drawn"] = fit.drawn_quickly
    found, (low, high) = [], cut.RMS
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for seed in range(DRAWS):
            torch.manual_seed(seed)
            out = space["Model"]()(*space["get_inputs"]())
            found.append(float(out.float().square().mean().sqrt()))
            steady = max(found) < STEADY * min(found)  # else another draw may be anything
            if not (out.is_floating_point() and steady and low <= found[-1] <= high):
                return False
    return True


def partition(maker: Maker, parts: list[Part], prefix: str = "p") -> dict:
    graph = maker.graph
    ids = [piece_id(graph, part, i, prefix) for i, part in enumerate(parts)]
    made_by = {ref: i for i, part in enumerate(parts) for ref in part.outputs}
    values = maker.values({ref for part in parts for ref in part.inputs})
    kind = "partition" if maker.step is None else "stepping_stone"
    pieces = []
    for i, part in enumerate(parts):
        unpack: dict[Ref, list[Ref]] = {}
        part.inputs = packed_inputs(parts, made_by, part, unpack)
        drawn = emit.Inputs(fits(maker, part, values, unpack), maker.task,
                            argument_numbers(graph, maker.task))  # fmt: skip
        title = title_of(graph, part)
        what = f"part {i + 1} of {len(parts)} of {'a step of ' if maker.step else ''}{maker.problem}"
        piece = emit.write_piece(graph, part, drawn, unpack, f"{title[0].upper()}{title[1:]}: {what}.")
        for ref, spec in zip(part.inputs, piece.inputs):
            node = graph.nodes[ref.node]
            spec["from"] = maker.source(node) if node.kind == "input" else f"{ids[made_by[ref]]}:0"
        needs = sorted({ids[made_by[r]] for r in part.inputs if r in made_by}, key=ids.index)
        pieces.append(contract(ids[i], title, kind, piece, needs, what))
    covers = [p["id"] for p in pieces]
    return {"subproblems": pieces,
            "composition": {"claimed": True, "output": f"{covers[-1]}:0", "covers": covers}}  # fmt: skip


# ---- a recurrence ------------------------------------------------------------------


def recurrence(maker: Maker, step: loops.Step, level: str) -> dict:
    """One step, or its parts, and a scan of a few steps. They are stepping stones: a step does not
    run over the whole task."""
    inner = Maker(maker.task, step.graph, maker.problem, maker.seed, step)
    wanted = cut.PARTS[level] - 1
    pieces = []
    if wanted > 1:
        try:
            pieces = cut_up(inner, wanted, "s")["subproblems"]
        except NoCut:
            pieces = []
    if not pieces:
        pieces = partition(inner, [whole_graph(step.graph)])["subproblems"]
        pieces[0]["id"] = "step"
        pieces[0]["why"] = "one step of the loop: the new state and the output, side by side"
    pieces.append(scan(maker, inner, step))
    return {"subproblems": pieces, "composition": unclaimed()}


def whole_graph(graph: Graph) -> Part:
    line = cut.Line(graph)
    return line.part(0, line.length)


def scan(maker: Maker, inner: Maker, step: loops.Step) -> dict:
    part = whole_graph(step.graph)
    base = maker.values({step.origin[r][0] for r in part.inputs})
    piece = emit.write_scan(step, part, base, maker.task, f"{loops.STEPS} steps of {maker.problem}.")
    for spec in piece.inputs:
        spec["from"] = "fresh"
    title = f"scan of {loops.STEPS} steps: {title_of(step.graph, part)}"
    return contract("scan", title, "stepping_stone", piece, [], "a short run of the whole loop")


def contract(name: str, title: str, kind: str, piece: emit.Piece, needs: list[str], why: str) -> dict:
    return {"id": name, "title": title, "kind": kind, "inputs": piece.inputs,
            "outputs": piece.outputs, "depends_on": needs, "source": piece.source,
            "sidecar": piece.sidecar, "why": why}  # fmt: skip


def packed_inputs(parts: list[Part], maker: dict[Ref, int], part: Part,
                  unpack: dict[Ref, list[Ref]]) -> list[Ref]:  # fmt: skip
    """Several outputs of a part come as one tensor; its first stands for it."""
    found: dict[Ref, None] = {}
    for ref in part.inputs:
        if ref in maker and len(parts[maker[ref]].outputs) > 1:
            outputs = parts[maker[ref]].outputs
            ref = outputs[0]
            unpack[ref] = outputs
        found[ref] = None
    return list(found)


def fits(maker: Maker, part: Part, values: dict[Ref, torch.Tensor],
         unpack: dict[Ref, list[Ref]]) -> dict[Ref, fit.Fit | None]:  # fmt: skip
    found = {}
    for ref in part.inputs:
        found[ref] = maker.fit(values, unpack.get(ref, [ref]))
        if found[ref] is None and maker.graph.nodes[ref.node].kind != "input":
            raise NoCut("no distribution is like a tensor at the cut")
    return found


def argument_numbers(graph: Graph, task: Task) -> dict[int, int]:
    """Which argument of forward each input node is."""
    names = task.arguments()
    return {i: names.index(graph.nodes[i].target) for i in graph.inputs
            if graph.nodes[i].target in names}  # fmt: skip


def piece_id(graph: Graph, part: Part, index: int, prefix: str) -> str:
    name = "out"
    if graph.output not in part.outputs:
        name = emit.plain_name(graph.nodes[part.outputs[0].node])
    name = re.sub(r"[^a-z0-9_]+", "_", (name or "out").lower()).strip("_") or "out"
    return f"{prefix}{index + 1}_{name}"[:ID]


def title_of(graph: Graph, part: Part) -> str:
    """The operators that do the work, in order."""
    seen: dict[str, int] = {}
    for index in part.nodes:
        node = graph.nodes[index]
        if index in part.steps and not cut.is_glue(node):
            name = short_name(node).strip("_")
            seen[name] = seen.get(name, 0) + 1
    shown = [n if c == 1 else f"{c} {n}" for n, c in seen.items()]
    rest = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + rest or "views"
