"""How far an output is from the truth, in one pass over bounded pieces.

Every figure of a verdict comes from here: largest absolute and relative error,
the error ratio rms(x - t) / rms(t) of the worst slice along the leading
dimension, the worst single element, and counts of NaN and Inf.
"""

from dataclasses import dataclass

import torch

# Elements looked at together, which bounds every temporary: small enough for a
# CPU's cache, large enough to keep a GPU busy.
PIECE = {"cpu": 1 << 18, "cuda": 1 << 26}

FLOOR = {torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}
STOCK = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
SLACK = 4.0  # how much worse than the eager reference a kernel may be
MOST = 0.25  # however bad the reference is: its sums may saturate, a kernel's need not
OUTLIER = 16.0  # how much worse than the slice's bound one element may be
SMALL_SLICE = 0.01  # a slice's rms counts as at least this share of the whole


@dataclass
class Errors:
    max_abs: float = 0.0
    max_rel: float = 0.0
    ratio: float = 0.0  # worst slice
    outlier: float = 0.0  # worst |x - t| / (|t| + rms(t))
    not_finite: int = 0
    stock_close: bool = True  # allclose(reference, x) as KernelBench asks
    near: float = 1.0  # the share of elements that are


def _rows(x: torch.Tensor) -> torch.Tensor:
    """As slices of the leading dimension; one-dimensional data is one slice."""
    return x.reshape(1, -1) if x.dim() < 2 or x.shape[0] == 0 else x.reshape(x.shape[0], -1)


def _pieces(matrix: torch.Tensor):
    """Bounds (r0, r1, c0, c1) that cover the matrix, each within PIECE."""
    rows, columns = matrix.shape
    piece = PIECE[matrix.device.type]
    step = max(1, piece // max(1, columns))
    for r in range(0, rows, step):
        for c in range(0, columns, piece):
            yield r, min(rows, r + step), c, min(columns, c + piece)


def _squares(rows: torch.Tensor) -> torch.Tensor:
    """Sum of squares of each slice, in double precision."""
    total = torch.zeros(rows.shape[0], dtype=torch.float64, device=rows.device)
    for r0, r1, c0, c1 in _pieces(rows):
        total[r0:r1] += rows[r0:r1, c0:c1].double().square().sum(1)
    return total


def measure(x: torch.Tensor, truth: torch.Tensor, reference: torch.Tensor | None) -> Errors:
    """Errors of x against the truth. `reference` is the eager result that the
    stock check compares with; None leaves that check out."""
    e = Errors()
    if truth.numel() == 0:
        return e
    xs, ts = _rows(x), _rows(truth)
    rs = _rows(reference) if reference is not None else None
    tolerance = STOCK.get(x.dtype, 0.0)
    squares = _squares(ts)
    columns = max(1, ts.shape[1])
    whole = (squares.sum() / (columns * ts.shape[0])).sqrt()
    rms = torch.maximum((squares / columns).sqrt(), whole * SMALL_SLICE)
    wrong = torch.zeros_like(squares)
    # On the device until the end: each question to it would wait for its answer.
    most = torch.zeros(3, dtype=torch.float64, device=ts.device)
    bad_count = torch.zeros((), dtype=torch.int64, device=ts.device)
    near = torch.zeros((), dtype=torch.int64, device=ts.device)
    for r0, r1, c0, c1 in _pieces(ts):
        a, b = xs[r0:r1, c0:c1].double(), ts[r0:r1, c0:c1].double()
        bad = ~torch.isfinite(a)
        bad_count += bad.sum()
        d = (a - b).abs_().masked_fill_(bad, float("inf"))
        wrong[r0:r1] += d.square().sum(1)
        size = b.abs()  # not in place: b may be the truth itself
        worst = torch.stack([
            d.max(), (d / size.clamp_min(1e-30)).max(),
            (d / (size + rms[r0:r1, None]).clamp_min(1e-300)).max(),
        ])  # fmt: skip
        most = torch.maximum(most, worst)
        if rs is not None:
            near += torch.isclose(
                xs[r0:r1, c0:c1], rs[r0:r1, c0:c1], atol=tolerance, rtol=tolerance
            ).sum()
    e.max_abs, e.max_rel, e.outlier = most.tolist()
    e.not_finite = int(bad_count)
    if rs is not None:
        e.near = int(near) / truth.numel()
        e.stock_close = int(near) == truth.numel()
    e.ratio = float(((wrong / columns).sqrt() / rms.clamp_min(1e-300)).max())
    return e


def bounds(dtype: torch.dtype, own: Errors) -> tuple[float, float]:
    """What the hardened protocol allows: the worst slice's ratio and the worst
    element, given the eager reference's own errors."""
    floor = FLOOR[dtype]
    ratio = min(max(SLACK * own.ratio, floor), MOST)
    return ratio, max(OUTLIER * floor, SLACK * own.outlier)


def within(e: Errors, limit: tuple[float, float]) -> bool:
    return e.not_finite == 0 and e.ratio <= limit[0] and e.outlier <= limit[1]
