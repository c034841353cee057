"""How flash-linear-attention is called, where the user has it installed: the function that computes
a variant, its own layout, and the arguments that make it compute the same thing. Nothing of it is
copied here."""

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import torch

# Read when it is imported. Its TileLang back ends would not be the expert's Triton, and a cache of
# tuned configurations would come from another machine.
SETTINGS = {"FLA_DISABLE_BACKEND_DISPATCH": "1", "FLA_TILELANG": "0", "FLA_CACHE_MODE": "disabled"}


@dataclass(frozen=True)
class Expert:
    module: str
    function: str
    call: Callable  # (function, arguments by name, scale)
    heads_first: bool = False  # its layout: (B, H, T, D) or (B, T, H, D)
    note: str = ""


def _scaled(f, a, s):
    return f(a["q"], a["k"], a["v"], scale=s)


BASED = "fixed tiles, no autotuning: a weak bar"
EXPERTS: dict[str, list[Expert]] = {
    "01": [Expert("fla.ops.based", "parallel_based", _scaled, note=BASED)],
    # The default eps is another one.
    "02": [Expert("fla.ops.rebased", "parallel_rebased",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], eps=1e-6), note=BASED)],
    "03": [Expert("fla.ops.retention", "parallel_retention", _scaled)],
    # It normalises unless it is told not to.
    "04": [Expert("fla.ops.linear_attn", "chunk_linear_attn",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], scale=s, normalize=False))],
    "05": [Expert("fla.ops.based", "fused_chunk_based", _scaled, note="at most 16 features")],
    "06": [Expert("fla.ops.nsa", "parallel_nsa",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], block_indices=a["block_indices"],
                                    block_counts=a["block_indices"].shape[-1], scale=s),
                  note="also pools keys and values for a branch that is not used")],
    "07": [Expert("fla.ops.retention", "chunk_retention", _scaled)],
    # Neither normalises q and k: they are of length 1 already.
    "08": [Expert("fla.ops.gated_delta_rule", "fused_recurrent_gated_delta_rule",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], g=a["g"], beta=a["beta"], scale=s,
                                    use_qk_l2norm_in_kernel=False))],
    # Documented as (B, T, H, D), but it reads (B, H, T, D); it has no default scale.
    "09": [Expert("fla.ops.delta_rule.parallel", "parallel_delta_rule",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], a["beta"], scale=s), True),
           Expert("fla.ops.delta_rule", "chunk_delta_rule",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], a["beta"], scale=s),
                  note="the chunked kernel: the parallel one did not work")],
    "10": [Expert("fla.ops.simple_gla", "parallel_simple_gla",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], g=a["g"], scale=s))],
    "11": [Expert("fla.ops.gla", "fused_recurrent_gla",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], gk=a["gk"], scale=s))],
    "12": [Expert("fla.ops.gsa", "fused_recurrent_gsa",
                  lambda f, a, s: f(a["q"], a["k"], a["v"], a["s"], a["g"], scale=s))],
}  # fmt: skip


def swapped(x: torch.Tensor) -> torch.Tensor:
    """Heads before steps, or steps before heads."""
    return x.transpose(1, 2)


def functions(point) -> list[tuple[Expert, Callable]]:
    """The experts for a variant that this release has, best first; if there is none, ImportError
    names the one that is missing, without the path that Python's own message has."""
    os.environ.update({k: os.environ.get(k, v) for k, v in SETTINGS.items()})
    found, missing = [], ""
    for expert in EXPERTS[point.stem[:2]]:
        try:
            module = importlib.import_module(expert.module)
            found.append((expert, getattr(module, expert.function)))
        except (ImportError, AttributeError):
            missing = f"{expert.module}.{expert.function}"
    if not found:
        raise ImportError(missing)
    return found


def calls(point, expert: Expert, function: Callable) -> dict[str, Callable]:
    """Calls by layout. `native`: its arguments lie in its own layout, and so does its output.
    `caller`: everything lies as the task has it, and what it takes to get there is timed."""
    scale = point.args["k"].shape[-1] ** -0.5
    same = expert.heads_first == point.heads_first

    def one(out: object) -> torch.Tensor:
        return out[0] if isinstance(out, tuple) else out

    if same:
        return {"caller": lambda: one(expert.call(function, point.args, scale))}
    own = {n: swapped(a).contiguous() for n, a in point.args.items()}
    views = {n: swapped(a) for n, a in point.args.items()}
    return {
        "native": lambda: one(expert.call(function, own, scale)),
        "caller": lambda: swapped(one(expert.call(function, views, scale))).contiguous(),
    }
