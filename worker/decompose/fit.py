"""How the inputs of a piece are drawn: like the tensors that the task itself has there."""

from dataclasses import dataclass

import torch
from shared import realism

QUANTILES = 16
DIGITS = 4


@dataclass
class Fit:
    """Python that draws a tensor; `{shape}` stands for its shape. `domain`: what it must stay in,
    so that the verifier may not negate or scale it."""

    kind: str  # normal, uniform, neg_log_gate, unit_norm, index
    a: float
    b: float
    text: str
    helper: str = ""  # a function that the text calls
    domain: bool = False


QUANTILE_HELPER = '''
def drawn(shape, quantiles):
    """Random values with these quantiles."""
    at = torch.rand(shape) * (len(quantiles) - 1)
    low = at.floor().clamp(max=len(quantiles) - 2)
    q = torch.tensor(quantiles)
    return torch.lerp(q[low.long()], q[low.long() + 1], at - low)
'''


def number(x: float) -> str:
    return f"{x:.{DIGITS}g}"


def fit(t: torch.Tensor) -> Fit | None:
    """None: no simple family of values is like these."""
    if not t.is_floating_point():
        return None
    values = t.detach().float()
    structure, inside = structured(values)
    for tried in candidates(values, inside):
        text = tried.text + structure
        if not realism.differs(realism.describe(_drawn(tried, structure, values.shape)),
                               realism.describe(values)):  # fmt: skip
            tried.text, tried.domain = text, tried.domain or bool(structure)
            return tried
    return None


def structured(values: torch.Tensor) -> tuple[str, torch.Tensor]:
    """A causal matrix is drawn full and made causal; the values inside are what is fitted."""
    if values.dim() >= 2 and values.shape[-1] == values.shape[-2] and values.shape[-1] > 1:
        for text, part in ((".tril()", values.tril()), (".tril(-1)", values.tril(-1))):
            if torch.equal(part, values) and bool((values != 0).any()):
                n, below = values.shape[-1], 0 if text == ".tril()" else -1
                mask = torch.ones(n, n, dtype=torch.bool).tril(below)
                return text, values[..., mask]
    return "", values


def candidates(values: torch.Tensor, inside: torch.Tensor) -> list[Fit]:
    """From simple to general."""
    mean, std = float(inside.mean()), float(inside.std()) if inside.numel() > 1 else 0.0
    low, high = float(inside.min()), float(inside.max())
    found = []
    if values.dim() and bool(((values.norm(dim=-1) - 1).abs() < 1e-3).all()):
        found.append(Fit("unit_norm", 0.0, 1.0, "F.normalize(torch.randn({shape}), dim=-1)", "", True))
    if low < 0 < high:
        shift = abs(mean) > 0.1 * std
        text = "torch.randn({shape})" + ("" if _near(std, 1) else f" * {number(std)}")
        found.append(Fit("normal", mean if shift else 0.0, std,
                         text + (f" + {number(mean)}" if shift else "")))  # fmt: skip
    if high <= 0:
        found += [Fit("neg_log_gate", 0.0, 1.0, "F.logsigmoid(torch.randn({shape}))", "", True),
                  Fit("neg_log_gate", low, 1.0,
                      f"F.logsigmoid(torch.randn({{shape}})).clamp(min={number(low)})", "", True)]  # fmt: skip
    if low >= 0 or high <= 0:
        found.append(Fit("uniform", low, high, _uniform(low, high), "", True))
    sample = inside.flatten()
    sample = sample[:: max(1, sample.numel() // 100_000)].sort().values
    at = torch.linspace(0, sample.numel() - 1, QUANTILES + 1).long()
    points = ", ".join(number(float(q)) for q in sample[at])
    found.append(Fit("uniform", low, high, f"drawn({{shape}}, [{points}])", QUANTILE_HELPER,
                     low >= 0 or high <= 0))  # fmt: skip
    return found


def _uniform(low: float, high: float) -> str:
    if (low >= 0 and low < 0.01 * high) and _near(high, 1):
        return "torch.rand({shape})"
    return f"torch.rand({{shape}}) * {number(high - low)} + {number(low)}"


def _near(x: float, y: float) -> bool:
    return abs(x - y) < 0.03 * abs(y)


def _drawn(tried: Fit, structure: str, shape: torch.Size) -> torch.Tensor:
    space = {"torch": torch, "F": torch.nn.functional}
    if tried.helper:
        exec(tried.helper, space)  # noqa: S102 - our own text
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return eval(tried.text.format(shape=tuple(shape)) + structure, space)  # noqa: S307
