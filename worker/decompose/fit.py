"""How the inputs of a piece are drawn: like the tensors that the task itself has there."""

from dataclasses import dataclass

import torch
from shared import realism

LEVELS = [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1]
DIGITS = 4
NEAR = 1.8  # how far off a fit may be; the judge, who draws other values, allows 3
SPAN = 1 << 15  # elements whose intermediate results stay in the processor's cache


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
    levels = torch.tensor(LEVELS)
    values = torch.tensor(quantiles)
    at = torch.rand(shape)
    i = torch.searchsorted(levels, at).clamp(1, len(quantiles) - 1)
    share = (at - levels[i - 1]) / (levels[i] - levels[i - 1])
    return torch.lerp(values[i - 1], values[i], share)
'''.replace("LEVELS", str(LEVELS))


def drawn_quickly(shape: tuple[int, ...], quantiles: list[float]) -> torch.Tensor:
    """The same as `drawn`, bit for bit."""
    levels, values = torch.tensor(LEVELS), torch.tensor(quantiles)
    table = torch.stack([levels[:-1], levels[1:] - levels[:-1], values[:-1], values[1:]])
    result = torch.rand(shape)
    for at in result.view(-1).split(SPAN):
        i = torch.bucketize(at, levels[1:-1], out_int32=True)
        start, width, low, high = (row.index_select(0, i) for row in table)
        torch.lerp(low, high, (at - start) / width, out=at)
    return result


def spelled_number(x: float) -> str:
    return f"{x:.{DIGITS}g}"


def fit(t: torch.Tensor) -> Fit | None:
    """None: no simple family of values is like these."""
    if not t.is_floating_point():
        return None
    values = t.detach().float()
    structure, inside = structured(values)
    real = realism.look_of(values)
    for tried in candidates(values, inside):
        text = f"({tried.text}){structure}" if structure else tried.text
        drawn = _drawn(tried, structure, values.shape)
        if not realism.differs(realism.look_of(drawn), real, NEAR):
            tried.text, tried.domain = text, tried.domain or bool(structure)
            return tried
    return None


def packed(values: list[torch.Tensor], rows: int) -> Fit | None:
    """Tensors side by side: each drawn for itself unless all are alike."""
    spread = [float(v.std()) for v in values]
    if max(spread) < 2 * min(spread):
        whole = fit(torch.cat([v.reshape(rows, -1) for v in values], 1))
        if whole is not None:
            return whole
    fits = [fit(v) for v in values]
    if any(f is None for f in fits):
        return None
    texts = [f"({f.text.format(shape=tuple(v.shape))}).reshape({rows}, -1)"
             for f, v in zip(fits, values)]  # fmt: skip
    helper = next((f.helper for f in fits if f.helper), "")
    return Fit("normal", 0.0, max(spread), f"torch.cat([{', '.join(texts)}], dim=1)", helper,
               any(f.domain for f in fits))  # fmt: skip


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
        text = "F.normalize(torch.randn({shape}), dim=-1)"
        found.append(Fit("unit_norm", 0.0, 1.0, text, "", True))
    if low < 0 < high:
        shift = abs(mean) > 0.1 * std
        text = "torch.randn({shape})" + ("" if _near(std, 1) else f" * {spelled_number(std)}")
        found.append(Fit("normal", mean if shift else 0.0, std,
                         text + (f" + {spelled_number(mean)}" if shift else "")))  # fmt: skip
        found += peaked(inside, std)
    if low >= 0 and values.dim() and bool(((values.sum(-1) - 1).abs() < 1e-3).all()):
        found += [Fit("normal", 0.0, s, f"torch.softmax(torch.randn({{shape}}) * {s}, -1)", "", True)
                  for s in (1, 2, 4)]  # fmt: skip
    if high <= 0:
        found += [Fit("neg_log_gate", 0.0, 1.0, "F.logsigmoid(torch.randn({shape}))", "", True),
                  Fit("neg_log_gate", low, 1.0,
                      f"F.logsigmoid(torch.randn({{shape}})).clamp(min={spelled_number(low)})",
                      "", True)]  # fmt: skip
    if 0 <= low < 0.01 * high and mean > 0:
        power = max(high / mean - 1, 0.1)
        found.append(Fit("uniform", low, high, f"torch.rand({{shape}}) ** {spelled_number(power)}"
                         + ("" if _near(high, 1) else f" * {spelled_number(high)}"), "", True))  # fmt: skip
    if low >= 0 or high <= 0:
        found.append(Fit("uniform", low, high, _uniform(low, high), "", True))
    sample = inside.flatten()
    sample = sample[:: max(1, sample.numel() // 100_000)].sort().values
    at = (torch.tensor(LEVELS) * (sample.numel() - 1)).long()
    points = ", ".join(spelled_number(float(q)) for q in sample[at])
    found.append(Fit("uniform", low, high, f"drawn({{shape}}, [{points}])", QUANTILE_HELPER,
                     low >= 0 or high <= 0))  # fmt: skip
    return found


def peaked(inside: torch.Tensor, std: float) -> list[Fit]:
    """Most values near zero, a few large ones."""
    found = []
    for power in (1, 2, 4, 8, 16):
        scale = std * (2 * power + 1) ** 0.5  # the rms of rand ** power is (2 power + 1) ** -0.5
        text = f"torch.randn({{shape}}) * torch.rand({{shape}}) ** {power} * {spelled_number(scale)}"
        found.append(Fit("normal", 0.0, std, text))
    return found


def _uniform(low: float, high: float) -> str:
    if (low >= 0 and low < 0.01 * high) and _near(high, 1):
        return "torch.rand({shape})"
    return f"torch.rand({{shape}}) * {spelled_number(high - low)} + {spelled_number(low)}"


def _near(x: float, y: float) -> bool:
    return abs(x - y) < 0.03 * abs(y)


def _drawn(tried: Fit, structure: str, shape: torch.Size) -> torch.Tensor:
    space = {"torch": torch, "F": torch.nn.functional, "drawn": drawn_quickly}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        text = tried.text.format(shape=tuple(shape))
        return eval(f"({text}){structure}", space)  # noqa: S307
