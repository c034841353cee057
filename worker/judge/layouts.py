"""Detects tasks that only move data. For these, copies are the work itself, and a trace's own moves
(cat, contiguous, flip) would do it without a kernel, so they are refused."""

import torch
from judge.expected import Expected
from judge.traces import Call, Move, Refused
from judge.truth import Reference
from shared import inputs
from shared.limits import Exceeded, Unusable

SAMPLES = 512  # elements of an output that are looked for in the inputs
CHUNK = 1 << 22  # elements of an input that are looked at together
HITS = 1 << 16  # among those: where values are few, everything is everywhere

Found = list[tuple[int, int, int]]  # an output's element, an input, that input's element


def only_moves(reference: Reference, seed: str) -> bool:
    """Whether every output element is a constant or copied from an input element, always the same
    one, whatever the values and weights."""
    first = _answer(reference, seed, "plain")
    if first is None or not all(out.is_floating_point() and out.numel() for out in first.eager):
        return False
    found = [_found(out, first.args) for out in first.eager]
    if not all(found):
        return False
    other = _answer(reference, seed, "signed") or _answer(reference, seed + "/other", "plain")
    return other is not None and all(
        _holds(places, out, before, other.args)
        for places, out, before in zip(found, other.eager, first.eager)
    )


def _answer(reference: Reference, seed: str, variant: str) -> Expected | None:
    """None if the reference does not accept such inputs."""
    pair = reference.fresh()
    pair.randomise(list(inputs.named_state(pair.eager)), inputs.derive(seed, f"weights-{variant}"))
    try:
        return pair.expect(inputs.derive(seed, f"moves-{variant}"), variant)
    except Exceeded:
        raise
    except Unusable:
        return None


def check(call: Call) -> None:
    """Raises Refused if the call copies anything except constants and parameters."""
    for node in call.nodes:
        if isinstance(node, Move) and node.source is not None:
            if call.buffers[node.source.buffer].kind not in ("const", "state"):
                raise Refused("moves", "the task only moves data, and torch moves it here (a copy, "
                              "cat, pad, flip or contiguous): let a kernel do it")  # fmt: skip


def _sampled(out: torch.Tensor) -> torch.Tensor:
    """The elements to examine: spread over the output, the same for every draw."""
    maker = torch.Generator().manual_seed(out.numel())
    return torch.randint(out.numel(), (SAMPLES,), generator=maker).unique()


def _floats(args: list) -> list[torch.Tensor]:
    return [t.reshape(-1) for t in inputs.tensors(args) if t.is_floating_point()]


def _found(out: torch.Tensor, args: list) -> Found:
    """Where values of an output occur in the inputs; empty if most do not."""
    at = _sampled(out)
    values, group = out.flatten()[at.to(out.device)].unique(return_inverse=True)
    having: list[list[int]] = [[] for _ in values]  # elements by value
    for k, value in zip(at.tolist(), group.tolist()):
        having[value].append(k)
    found: Found = []
    for index, flat in enumerate(_floats(args)):
        for start in range(0, flat.numel(), CHUNK):
            piece = flat[start : start + CHUNK].to(out.dtype)
            near = torch.searchsorted(values, piece).clamp(max=len(values) - 1)
            hits = (values[near] == piece).nonzero().flatten()[:HITS]
            pairs = zip(near[hits].tolist(), hits.tolist())
            found += [(k, index, start + hit) for value, hit in pairs for k in having[value]]
    return found if len({k for k, _, _ in found}) > len(at) // 2 else []


def _holds(found: Found, out: torch.Tensor, before: torch.Tensor, args: list) -> bool:
    at = _sampled(out).to(out.device)
    now, was = out.flatten()[at], before.flatten()[at]
    explained = set(at[now == was].tolist())
    given = _floats(args)
    for index, flat in enumerate(given):
        mine = [(k, place) for k, i, place in found if i == index]
        if mine:
            ks, places = (torch.tensor(part, device=out.device) for part in zip(*mine))
            same = flat[places].to(out.dtype) == out.flatten()[ks]
            explained |= set(ks[same].tolist())
    return len(explained) == len(at)
