"""Whether inputs of a piece look like the tensors that its task has there. A kernel that was solved
for randn in place of log-decays would teach the wrong thing."""

import math
from dataclasses import dataclass

import torch

FACTOR = 3.0  # mean, spread and range may be that much off


@dataclass
class Look:
    mean: float
    std: float
    low: float
    high: float


def look_of(t: torch.Tensor) -> Look:
    values = t.detach().double()
    if values.numel() == 0:
        return Look(0.0, 0.0, 0.0, 0.0)
    low, high = torch.aminmax(values)
    return Look(float(values.mean()), float(values.std(correction=0)), float(low), float(high))


def differs(mine: Look, real: Look, factor: float = FACTOR) -> str | None:
    """How `mine` differs from what is real; None if it is near enough."""
    scale = max(real.std, abs(real.mean), 1e-30)
    if not all(map(math.isfinite, (mine.mean, mine.std, mine.low, mine.high))):
        return "the values are not finite"
    if abs(mine.mean - real.mean) > factor * scale:
        return f"mean {mine.mean:.3g} instead of {real.mean:.3g}"
    if not _within(mine.std, real.std, 0.01 * scale, factor):
        return f"standard deviation {mine.std:.3g} instead of {real.std:.3g}"
    if real.low >= 0 > mine.low:
        return f"minimum {mine.low:.3g}, where the task has no negative value"
    if real.high <= 0 < mine.high:
        return f"maximum {mine.high:.3g}, where the task has no positive value"
    largest = [max(abs(x.low), abs(x.high)) for x in (mine, real)]
    if not _within(*largest, 0.1 * scale, factor):
        return f"largest value {largest[0]:.3g} instead of {largest[1]:.3g}"
    return None


def _within(x: float, y: float, least: float, factor: float) -> bool:
    x, y = max(x, least), max(y, least)
    return y / factor <= x <= y * factor
