"""Measures how far an output is from the truth, in one pass over chunks of bounded size.

Every figure of a verdict comes from here: largest absolute and relative error,
the error ratio rms(x - t) / rms(t) of the worst slice along the leading
dimension, the worst single element, and counts of NaN and Inf.

Where the truth is infinite, the same infinity is exact and anything else counts as NaN. All
sizes are those of finite elements.
"""

from dataclasses import dataclass

import torch

# Elements looked at together, which bounds every temporary: small enough for a
# CPU's cache, large enough to keep a GPU busy.
CHUNK = {"cpu": 1 << 18, "cuda": 1 << 26}
READY = 1 << 18  # elements of a truth whose sizes are kept: 6 MiB

# By an output's dtype. float64 comes out of references that use such constants.
FLOOR = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}
STOCK = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
TF32_FLOOR = 2e-3  # ten bits of a product's factors, whatever it is stored as
SLACK = 4.0  # how much worse than the eager reference a kernel may be
MOST = 0.25  # however bad the reference is: its sums may saturate, a kernel's need not
OUTLIER = 16.0  # how much worse than the slice's bound one element may be
SMALL_SLICE = 0.01  # a slice's rms counts as at least this share of the whole


@dataclass
class Slice:
    """The slice of an output that is furthest off."""

    ratio: float
    allowed: float
    place: str  # such as "batch 1, head 3"


@dataclass
class Errors:
    max_abs: float = 0.0
    max_rel: float = 0.0
    ratio: float = 0.0  # worst slice
    outlier: float = 0.0  # worst |x - t| / (|t| + rms(t))
    not_finite: int = 0  # NaN, and infinities in other places than the truth's
    stock_close: bool = True  # allclose(reference, x) as KernelBench asks
    near: float = 1.0  # the share of elements that are
    worst: Slice | None = None  # by the sidecar's tolerance (sidecar.py)


def rows(x: torch.Tensor) -> torch.Tensor:
    """Views x as slices along the leading dimension; one-dimensional data is one slice."""
    return x.reshape(1, -1) if x.dim() < 2 or x.shape[0] == 0 else x.reshape(x.shape[0], -1)


def _pieces(matrix: torch.Tensor):
    """Bounds (r0, r1, c0, c1) of chunks that cover the matrix, each at most CHUNK."""
    rows, columns = matrix.shape
    chunk = CHUNK[matrix.device.type]
    step = max(1, chunk // max(1, columns))
    for r in range(0, rows, step):
        for c in range(0, columns, chunk):
            yield r, min(rows, r + step), c, min(columns, c + chunk)


def _squares(ts: torch.Tensor, infinite: bool = False) -> torch.Tensor:
    """The sum of squares of each slice, in double precision."""
    total = torch.zeros(ts.shape[0], dtype=torch.float64, device=ts.device)
    for r0, r1, c0, c1 in _pieces(ts):
        chunk = ts[r0:r1, c0:c1]
        chunk = chunk.masked_fill(chunk.isinf(), 0) if infinite else chunk
        total[r0:r1] += chunk.double().square().sum(1)
    return total


def finite(x: torch.Tensor, truth: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both without the truth's infinities: zeros there, NaN in x where it has anything else."""
    at, same = truth.isinf(), x == truth
    x = x.masked_fill(at & same, 0).masked_fill_(at & ~same, float("nan"))
    return x, truth.masked_fill(at, 0)


def has_infinities(t: torch.Tensor) -> bool:
    return t.is_floating_point() and t.numel() > 0 and bool(torch.stack(torch.aminmax(t)).isinf().any())


@dataclass
class Sizes:
    """The scale of errors: rms(t) of each slice, with its floor. `columns` are finite ones."""

    rms: torch.Tensor
    columns: int | torch.Tensor
    ready: "Ready | None" = None
    infinite: bool = False  # the truth has infinities


class Ready:
    """The shared part of comparisons with a small truth, computed once. Most outputs are small, and
    then calls into torch take longer than computing."""

    def __init__(self, truth: torch.Tensor, rms: torch.Tensor, infinite: bool) -> None:
        self.rows = truth if infinite else None
        self.truth = finite(truth, truth)[1].double() if infinite else truth.double()
        size = self.truth.abs()
        self.relative = size.clamp_min(1e-30)
        self.outlier = size.add_(rms[:, None]).clamp_min_(1e-300)
        self.rms = rms.clamp_min(1e-300)
        self.stock: tuple[torch.Tensor, torch.Tensor] | None = None

    def allowed(self, reference: torch.Tensor, tolerance: float) -> torch.Tensor | None:
        """The error that allclose allows for a finite reference; None: call allclose itself."""
        if self.stock is None or self.stock[0] is not reference:
            if not bool(torch.isfinite(reference).all()):
                return None
            self.stock = reference, rows((tolerance * reference).abs_().add_(tolerance))
        return self.stock[1]


def sizes(truth: torch.Tensor, infinite: bool | None = None) -> Sizes:
    """`infinite`: whether the truth has infinities; None asks the device."""
    ts = rows(truth)
    infinite = has_infinities(truth) if infinite is None else infinite
    squares = _squares(ts, infinite)
    columns: int | torch.Tensor = max(1, ts.shape[1])
    count: int | torch.Tensor = columns * ts.shape[0]
    if infinite:
        columns = ts.isfinite().sum(1).clamp_min_(1)
        count = columns.sum()
    whole = (squares.sum() / count).sqrt()
    rms = torch.maximum((squares / columns).sqrt(), whole * SMALL_SLICE)
    small = 0 < truth.numel() <= min(READY, CHUNK[truth.device.type])
    return Sizes(rms, columns, Ready(ts, rms, infinite) if small else None, infinite)


def measure(x: torch.Tensor, truth: torch.Tensor, reference: torch.Tensor | None,
            by: Sizes | None = None) -> Errors:  # fmt: skip
    """Errors of x against the truth, which has no NaN. `reference` is the eager result for the stock
    check; None skips that check. `by` is the truth's sizes, if already known."""
    if truth.numel() == 0:
        return Errors()
    xs, ts = rows(x), rows(truth)
    rs = rows(reference) if reference is not None else None
    tolerance = STOCK.get(x.dtype, 0.0)
    by = by or sizes(truth)
    if by.ready is not None:
        return _measure_small(xs, reference, by, tolerance)
    wrong = torch.zeros_like(by.rms)
    # On the device until the end: each question to it would wait for its answer.
    most = torch.zeros(3, dtype=torch.float64, device=ts.device)
    bad_count = torch.zeros((), dtype=torch.int64, device=ts.device)
    near = torch.zeros((), dtype=torch.int64, device=ts.device)
    for r0, r1, c0, c1 in _pieces(ts):
        a, b = xs[r0:r1, c0:c1], ts[r0:r1, c0:c1]
        if rs is not None:
            near += torch.isclose(a, rs[r0:r1, c0:c1], atol=tolerance, rtol=tolerance).sum()
        if by.infinite:
            a, b = finite(a, b)
        d = (a.double() - b.double()).abs_()
        bad = ~(d < float("inf"))  # NaN, too
        bad_count += bad.sum()
        d.masked_fill_(bad, float("inf"))
        wrong[r0:r1] += d.square().sum(1)
        most = torch.maximum(most, _worst(d, b, by.rms[r0:r1, None]))
    ratio = ((wrong / by.columns).sqrt() / by.rms.clamp_min(1e-300)).max()
    found = [*most, ratio, bad_count.double()] + ([near.double()] if rs is not None else [])
    return _errors(torch.stack(found).tolist(), truth.numel())


def _measure_small(
    xs: torch.Tensor, reference: torch.Tensor | None, by: Sizes, tolerance: float
) -> Errors:
    """The same figures, bit for bit, with fewer calls into torch."""
    ready, infinite = by.ready, float("inf")
    own = xs if ready.rows is None else finite(xs, ready.rows)[0]
    d = (own.double() - ready.truth).abs_().nan_to_num_(nan=infinite, posinf=infinite)
    ratio = ((d.square().sum(1) / by.columns).sqrt() / ready.rms).max()
    found = [d.max(), (d / ready.relative).max(), (d / ready.outlier).max(), ratio,
             (d == infinite).sum(dtype=torch.float64)]  # fmt: skip
    if reference is not None:
        rs, allowed = rows(reference), ready.allowed(reference, tolerance)
        near = (
            torch.isclose(xs, rs, atol=tolerance, rtol=tolerance)
            if allowed is None or xs.dtype != rs.dtype
            else (xs - rs).abs_() <= allowed
        )
        found.append(near.sum(dtype=torch.float64))
    return _errors(torch.stack(found).tolist(), xs.numel())


def _errors(figures: list[float], count: int) -> Errors:
    """Converts the device's figures; the last is present only with a reference."""
    e = Errors(figures[0], figures[1], figures[3], figures[2], int(figures[4]))
    if len(figures) > 5:
        e.near = figures[5] / count
        e.stock_close = int(figures[5]) == count
    return e


def _worst(d: torch.Tensor, t: torch.Tensor, rms: torch.Tensor) -> torch.Tensor:
    """The largest of d, d / |t| and d / (|t| + rms)."""
    size = t.double().abs()
    relative = size.clamp_min(1e-30)
    torch.div(d, relative, out=relative)
    size.add_(rms).clamp_min_(1e-300)
    torch.div(d, size, out=size)
    return torch.stack([d.max(), relative.max(), size.max()])


def worst_slice(x: torch.Tensor, truth: torch.Tensor, axes: list[int]) -> tuple[float, list[int]]:
    """The error ratio of the worst slice, one for each index of these dimensions, and that index.
    NaN and Inf count as infinitely far off."""
    if truth.numel() == 0:
        return 0.0, [0] * len(axes)
    xs, ts = (_slices(t, axes) for t in (x, truth))
    squares, wrong = _squares(ts), torch.zeros(ts.shape[0], dtype=torch.float64, device=ts.device)
    for r0, r1, c0, c1 in _pieces(ts):
        d = xs[r0:r1, c0:c1].double() - ts[r0:r1, c0:c1].double()
        wrong[r0:r1] += d.square_().nan_to_num_(nan=float("inf")).sum(1)
    least = squares.mean().sqrt() * SMALL_SLICE
    ratio = wrong.sqrt() / torch.maximum(squares.sqrt(), least).clamp_min(1e-300)
    at = int(ratio.argmax())
    shape = [truth.shape[a] for a in axes]
    place = torch.unravel_index(torch.tensor(at), shape) if shape else []
    return float(ratio[at]), [int(i) for i in place]


def _slices(x: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """Views x, or a copy, as one row for each index of these dimensions."""
    rows = 1
    for a in axes:
        rows *= x.shape[a]
    return x.movedim(axes, list(range(len(axes)))).reshape(rows, -1)


def floor(dtype: torch.dtype, precision: str = "") -> float:
    """The error ratio that is always accepted."""
    return max(FLOOR[dtype], TF32_FLOOR) if precision == "tf32" else FLOOR[dtype]


def bounds(dtype: torch.dtype, own: Errors, precision: str = "") -> tuple[float, float]:
    """The bounds of the hardened protocol, for the ratio of the worst slice and for the worst
    element, given the eager reference's own errors."""
    least = floor(dtype, precision)
    ratio = min(max(SLACK * own.ratio, least), MOST)
    return ratio, max(OUTLIER * least, SLACK * own.outlier)


def within(e: Errors, limit: tuple[float, float]) -> bool:
    return e.not_finite == 0 and e.ratio <= limit[0] and e.outlier <= limit[1]
