"""Detects tasks that only move data. For these, copies are the work itself, and a trace's own moves
(cat, contiguous, flip) would do it without a kernel, so they are refused."""

import torch
from judge.expected import Expected, bits_of
from judge.traces import Call, Move, Refused
from judge.truth import Reference
from shared import inputs
from shared.limits import Exceeded, Unusable

SAMPLES = 512  # elements of an output that are looked for in the inputs
CHUNK = 1 << 22  # elements of an input that are looked at together
# How many draws of the inputs must agree. Two are enough for most tasks. Where they agree, more
# are drawn: among a billion bfloat16 values, any pair of values occurs somewhere.
DRAWS = 2, 5
MIX = 0x5851F42D4C957F2D  # spreads the values of several draws over 64 bits


def task_only_moves(reference: Reference, seed: str) -> bool:
    """Whether every output element is a constant or copied from an input element, always the same
    one, whatever the values and weights."""
    outputs: list[list[torch.Tensor]] = []  # by draw
    given: list[list[torch.Tensor]] = []
    for wanted in DRAWS:
        while len(outputs) < wanted:
            label = f"{seed}/{len(outputs)}"
            expected = _answer_on(reference, label, "signed") if len(outputs) % 2 else None
            expected = expected or _answer_on(reference, label, "plain")
            if expected is None:
                return False
            outputs.append(expected.eager)
            given.append(_floats(expected.args))
            del expected  # the right answers take memory, too
        if not all(out.is_floating_point() and out.numel() for out in outputs[0]):
            return False
        if not all(_only_moved(out, given) for out in zip(*outputs)):
            return False
    return True


def _answer_on(reference: Reference, seed: str, variant: str) -> Expected | None:
    """None if the reference does not accept such inputs."""
    pair = reference.fresh()
    pair.start(inputs.derive(seed, f"weights-{variant}"), varied=True)
    try:
        return pair.expect(inputs.derive(seed, f"moves-{variant}"), variant)
    except Exceeded:
        raise
    except Unusable:
        return None


def check_layouts(call: Call) -> None:
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


def _only_moved(outs: tuple[torch.Tensor, ...], given: list[list[torch.Tensor]]) -> bool:
    """Whether each sampled element of an output has a constant value in all draws, or the values
    of one input element in all of them."""
    at = _sampled(outs[0]).to(outs[0].device)
    now = [out.flatten()[at] for out in outs]
    constant = torch.stack([values == now[0] for values in now]).all(dim=0)
    keys, group = _keys_of_draws(now)[~constant].unique(return_inverse=True)
    if not len(keys):
        return True
    found = torch.zeros_like(keys, dtype=torch.bool)
    for flats in zip(*given):
        for start in range(0, flats[0].numel(), CHUNK):
            parts = [flat[start : start + CHUNK].to(now[0].dtype) for flat in flats]
            mixed = _keys_of_draws(parts)
            near = torch.searchsorted(keys, mixed).clamp_(max=len(keys) - 1)
            found[near[keys[near] == mixed]] = True
    return bool(found[group].all())


def _keys_of_draws(draws: list[torch.Tensor]) -> torch.Tensor:
    """One number per element for its values in all draws."""
    mixed = torch.zeros_like(draws[0], dtype=torch.int64)
    for values in draws:
        mixed = mixed * MIX + bits_of(values.contiguous()).to(torch.int64)
        mixed ^= mixed >> 29
    return mixed
