"""A decomposition of a task, as the contract has it (docs/CURRICULUM.md), made without a model."""

import re

import torch
from decompose import cut, emit, fit
from decompose.capture import Graph, NotCaptured, Ref, Task, capture
from decompose.cut import NoCut, Part, short_name

ID = 40  # characters
TRACED = 400  # nodes that a model is shown
SHOWN = 6  # operators that a title names


def propose(source: str, problem: str, level: str, seed: int, init_seed: int) -> dict:
    """The proposal and the trace, or `not_captured` with the reason."""
    task = Task(source, init_seed)
    try:
        graph, _ = capture(task, seed)
        told = {"problem_id": problem, "level": level, "trace": traced(graph)}
        parts = cut.cut(graph, cut.PARTS[level])
        return told | partition(task, graph, parts, problem, seed)
    except (NotCaptured, NoCut) as problem_found:
        return {"problem_id": problem, "level": level, "trace": [], "subproblems": [],
                "composition": unclaimed(), "not_captured": str(problem_found)}  # fmt: skip


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


def partition(task: Task, graph: Graph, parts: list[Part], problem: str, seed: int) -> dict:
    ids = [piece_id(graph, part, i) for i, part in enumerate(parts)]
    maker = {ref: i for i, part in enumerate(parts) for ref in part.outputs}
    crossing = {ref for part in parts for ref in part.inputs}
    _, values = capture(task, seed, crossing)
    pieces = []
    for i, part in enumerate(parts):
        unpack: dict[Ref, list[Ref]] = {}
        part.inputs = packed_inputs(parts, maker, part, unpack)
        drawn = emit.Inputs(fits(graph, part, values, unpack), task, numbers(graph, task))
        title = title_of(graph, part)
        comment = f"{title[0].upper()}{title[1:]}: part {i + 1} of {len(parts)} of {problem}."
        piece = emit.write(graph, part, drawn, unpack, comment)
        for ref, told in zip(part.inputs, piece.inputs):
            node = graph.nodes[ref.node]
            told["from"] = f"orig:{node.target}" if node.kind == "input" else f"{ids[maker[ref]]}:0"
        needs = sorted({ids[maker[r]] for r in part.inputs if r in maker}, key=ids.index)
        pieces.append(contract(ids[i], title, "partition", piece, needs,
                               f"part {i + 1} of {len(parts)} in the order of the computation"))  # fmt: skip
    covers = [p["id"] for p in pieces]
    return {"subproblems": pieces,
            "composition": {"claimed": True, "output": f"{covers[-1]}:0", "covers": covers}}  # fmt: skip


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


def fits(graph: Graph, part: Part, values: dict[Ref, torch.Tensor],
         unpack: dict[Ref, list[Ref]]) -> dict[Ref, fit.Fit | None]:  # fmt: skip
    found = {}
    for ref in part.inputs:
        if ref in unpack:
            rows = emit.packed_rows(graph, unpack[ref])
            value = torch.cat([values[r].reshape(rows, -1) for r in unpack[ref]], 1)
        else:
            value = values[ref]
        found[ref] = fit.fit(value)
        if found[ref] is None and graph.nodes[ref.node].kind != "input":
            raise NoCut("no distribution is like a tensor at the cut")
    return found


def numbers(graph: Graph, task: Task) -> dict[int, int]:
    """Which argument of forward each input node is."""
    names = task.arguments()
    return {i: names.index(graph.nodes[i].target) for i in graph.inputs
            if graph.nodes[i].target in names}  # fmt: skip


def piece_id(graph: Graph, part: Part, index: int) -> str:
    name = graph.nodes[part.outputs[0].node].name if len(part.outputs) == 1 else "packed"
    name = re.sub(r"[^a-z0-9_]+", "_", (name or "out").lower()).strip("_") or "out"
    return f"p{index + 1}_{name}"[:ID]


def title_of(graph: Graph, part: Part) -> str:
    """The operators that do the work, in order."""
    seen: dict[str, int] = {}
    for index in part.nodes:
        node = graph.nodes[index]
        if node.kind in ("call", "module") and not cut.is_glue(node):
            name = short_name(node).strip("_")
            seen[name] = seen.get(name, 0) + 1
    told = [n if c == 1 else f"{c} {n}" for n, c in seen.items()]
    rest = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return ", ".join(told[:SHOWN]) + rest
